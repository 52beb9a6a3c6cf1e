"""ListQueueTags: the tags of a queue."""

from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import ListQueueTagsRequest, ListQueueTagsResult


async def handle(context: Context, request: ListQueueTagsRequest) -> ListQueueTagsResult:
    return ListQueueTagsResult(dict(context.queue(request.queue_url).entry.tags) or None)
