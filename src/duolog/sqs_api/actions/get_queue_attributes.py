"""GetQueueAttributes: a queue's configuration and its message counts."""

from duolog.broker.queues.catalog import QueueEntry
from duolog.config.queue import (
    EXTENSION_PREFIX,
    READ_ONLY_ATTRIBUTES,
    SETTABLE_ATTRIBUTES,
    attribute_texts,
)
from duolog.model.queue_errors import InvalidAttributeName
from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import GetQueueAttributesRequest, GetQueueAttributesResult

ALL = "All"
_KNOWN = SETTABLE_ATTRIBUTES | READ_ONLY_ATTRIBUTES | {ALL}


async def handle(context: Context, request: GetQueueAttributesRequest) -> GetQueueAttributesResult:
    queue = context.queue(request.queue_url)
    names = request.attribute_names or []
    for name in names:
        if name not in _KNOWN:
            raise InvalidAttributeName(f"Unknown Attribute {name}.")
    attributes = await _attributes(queue.entry, context)
    if ALL not in names:
        attributes = {name: text for name, text in attributes.items() if name in names}
    return GetQueueAttributesResult(attributes or None)


async def _attributes(entry: QueueEntry, context: Context) -> dict[str, str]:
    counts = await context.queues.level(entry.name)
    return {
        **{
            name: text
            for name, text in attribute_texts(entry.config).items()
            # Our extensions are left out unless set: clients of Amazon SQS do not expect them.
            if not name.startswith(EXTENSION_PREFIX) or name in entry.attributes
        },
        "QueueArn": context.arns.of(entry.name),
        "CreatedTimestamp": str(entry.created_ms // 1000),
        "LastModifiedTimestamp": str(entry.modified_ms // 1000),
        "ApproximateNumberOfMessages": str(counts.ready),
        "ApproximateNumberOfMessagesNotVisible": str(counts.in_flight),
        "ApproximateNumberOfMessagesDelayed": str(counts.delayed),
    }
