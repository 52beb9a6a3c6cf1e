"""CancelMessageMoveTask: stops a move; messages already moved stay where they are."""

from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import CancelMessageMoveTaskRequest, CancelMessageMoveTaskResult


async def handle(
    context: Context, request: CancelMessageMoveTaskRequest
) -> CancelMessageMoveTaskResult:
    return CancelMessageMoveTaskResult(await context.queues.move_tasks.cancel(request.task_handle))
