"""PurgeQueue: deletes a queue's messages and keeps the queue."""

from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import PurgeQueueRequest


async def handle(context: Context, request: PurgeQueueRequest) -> None:
    await context.queues.purge(context.queue_name(request.queue_url))
