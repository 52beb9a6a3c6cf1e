"""DeleteQueue: deletes the queue and its messages."""

from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import DeleteQueueRequest


async def handle(context: Context, request: DeleteQueueRequest) -> None:
    await context.queues.delete(context.queue_name(request.queue_url))
