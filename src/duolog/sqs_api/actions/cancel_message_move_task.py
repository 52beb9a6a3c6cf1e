"""CancelMessageMoveTask: a move stops; what has been moved stays where it is."""

from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import CancelMessageMoveTaskRequest, CancelMessageMoveTaskResult


async def handle(
    context: Context, request: CancelMessageMoveTaskRequest
) -> CancelMessageMoveTaskResult:
    return CancelMessageMoveTaskResult(await context.queues.move_tasks.cancel(request.task_handle))
