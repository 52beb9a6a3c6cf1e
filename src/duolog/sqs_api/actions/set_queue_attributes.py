"""SetQueueAttributes: changes a queue's configuration."""

from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import SetQueueAttributesRequest


async def handle(context: Context, request: SetQueueAttributesRequest) -> None:
    name = context.queue_name(request.queue_url)
    await context.queues.set_attributes(name, request.attributes)
