"""ListQueues: the URLs of queues, filtered by a prefix of their names."""

from duolog.sqs_api.context import Context
from duolog.sqs_api.pages import page_of
from duolog.wire.sqs.messages import ListQueuesRequest, ListQueuesResult


async def handle(context: Context, request: ListQueuesRequest) -> ListQueuesResult:
    prefix = request.queue_name_prefix or ""
    page = page_of(
        lambda after, limit: context.queues.names(prefix, after, limit),
        request.max_results,
        request.next_token,
    )
    return ListQueuesResult([context.url_of(name) for name in page.names] or None, page.next_token)
