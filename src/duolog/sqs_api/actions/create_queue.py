"""CreateQueue: creates a queue; an existing one is accepted if its attributes agree."""

from duolog.sqs_api.context import Context
from duolog.sqs_api.validation.tags import check_tags
from duolog.wire.sqs.messages import CreateQueueRequest, CreateQueueResult


async def handle(context: Context, request: CreateQueueRequest) -> CreateQueueResult:
    tags = request.tags or {}
    check_tags(tags)
    await context.queues.create(request.queue_name, request.attributes or {}, tags)
    return CreateQueueResult(context.url_of(request.queue_name))
