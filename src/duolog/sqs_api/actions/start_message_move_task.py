"""StartMessageMoveTask: moves a dead-letter queue's messages to their source queues or another
one."""

from duolog.sqs_api.context import Context
from duolog.sqs_api.moves import queue_named_by
from duolog.sqs_api.validation.bounds import check_moves_per_second
from duolog.wire.sqs.messages import StartMessageMoveTaskRequest, StartMessageMoveTaskResult


async def handle(
    context: Context, request: StartMessageMoveTaskRequest
) -> StartMessageMoveTaskResult:
    source = queue_named_by(context, request.source_arn, "SourceArn")
    destination = None
    if request.destination_arn is not None:
        destination = queue_named_by(context, request.destination_arn, "DestinationArn")
    rate = request.max_number_of_messages_per_second
    if rate is not None:
        check_moves_per_second(rate)
    handle = await context.queues.move_tasks.start(source, destination, rate)
    return StartMessageMoveTaskResult(handle)
