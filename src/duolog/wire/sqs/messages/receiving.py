"""ReceiveMessage."""

from duolog.wire.sqs.messages.attributes import Message
from duolog.wire.sqs.messages.shape import Integer, Shape


class ReceiveMessageRequest(Shape):
    queue_url: str
    attribute_names: list[str] | None = None
    """Older name of the next field; clients may send either or both."""
    message_system_attribute_names: list[str] | None = None
    message_attribute_names: list[str] | None = None
    max_number_of_messages: Integer | None = None
    visibility_timeout: Integer | None = None
    wait_time_seconds: Integer | None = None
    receive_request_attempt_id: str | None = None


class ReceiveMessageResult(Shape):
    messages: list[Message] | None = None
