"""Values of message attributes, of users and of the system."""

from msgspec import field

from duolog.wire.sqs.messages.shape import Shape


class MessageAttributeValue(Shape):
    data_type: str
    """String, Number or Binary, optionally followed by a dot and a label of the user's."""
    string_value: str | None = None
    binary_value: bytes | None = None
    string_list_values: list[str] | None = None
    """Reserved by AWS, like the next field: requests that use either are refused."""
    binary_list_values: list[bytes] | None = None


class MessageSystemAttributeValue(Shape):
    data_type: str
    string_value: str | None = None
    binary_value: bytes | None = None
    string_list_values: list[str] | None = None
    binary_list_values: list[bytes] | None = None


class Message(Shape):
    """A message as ReceiveMessage returns it."""

    message_id: str | None = None
    receipt_handle: str | None = None
    md5_of_body: str | None = field(default=None, name="MD5OfBody")
    body: str | None = None
    attributes: dict[str, str] | None = None
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    message_attributes: dict[str, MessageAttributeValue] | None = None
