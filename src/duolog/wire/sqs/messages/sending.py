"""SendMessage and SendMessageBatch."""

from msgspec import field

from duolog.wire.sqs.messages.attributes import (
    MessageAttributeValue,
    MessageSystemAttributeValue,
)
from duolog.wire.sqs.messages.batches import BatchResultErrorEntry
from duolog.wire.sqs.messages.shape import Integer, Shape


class SendMessageRequest(Shape):
    queue_url: str
    message_body: str
    delay_seconds: Integer | None = None
    message_attributes: dict[str, MessageAttributeValue] | None = None
    message_system_attributes: dict[str, MessageSystemAttributeValue] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageResult(Shape):
    md5_of_message_body: str | None = field(default=None, name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(
        default=None, name="MD5OfMessageSystemAttributes"
    )
    message_id: str | None = None
    sequence_number: str | None = None


class SendMessageBatchRequestEntry(Shape):
    id: str
    message_body: str
    delay_seconds: Integer | None = None
    message_attributes: dict[str, MessageAttributeValue] | None = None
    message_system_attributes: dict[str, MessageSystemAttributeValue] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageBatchRequest(Shape):
    queue_url: str
    entries: list[SendMessageBatchRequestEntry]


class SendMessageBatchResultEntry(Shape):
    id: str
    message_id: str
    md5_of_message_body: str = field(name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(
        default=None, name="MD5OfMessageSystemAttributes"
    )
    sequence_number: str | None = None


class SendMessageBatchResult(Shape):
    # Left out when empty, as in every answer to a batch: clients written for the Query protocol
    # take the mere presence of Failed for a failure.
    successful: list[SendMessageBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []
