"""GetQueueUrl: the URL of a queue, by its name."""

from duolog.model.queue_errors import QueueDoesNotExist
from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import GetQueueUrlRequest, GetQueueUrlResult


async def handle(context: Context, request: GetQueueUrlRequest) -> GetQueueUrlResult:
    if request.queue_owner_aws_account_id not in (None, context.account_id):
        raise QueueDoesNotExist("The specified queue does not exist.")
    context.queues.get(request.queue_name)
    return GetQueueUrlResult(context.url_of(request.queue_name))
