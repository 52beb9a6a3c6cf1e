"""ListDeadLetterSourceQueues: the queues whose dead letters go to this one."""

from duolog.sqs_api.context import Context
from duolog.sqs_api.pages import page_of
from duolog.wire.sqs.messages import (
    ListDeadLetterSourceQueuesRequest,
    ListDeadLetterSourceQueuesResult,
)


async def handle(
    context: Context, request: ListDeadLetterSourceQueuesRequest
) -> ListDeadLetterSourceQueuesResult:
    name = context.queue_name(request.queue_url)
    page = page_of(
        lambda after, limit: context.queues.dead_letter_sources(name, after, limit),
        request.max_results,
        request.next_token,
    )
    return ListDeadLetterSourceQueuesResult(
        [context.url_of(source) for source in page.names], page.next_token
    )
