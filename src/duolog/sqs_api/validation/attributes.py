"""Message attributes: their names, types and values, as SQS restricts them."""

import re
from collections.abc import Mapping

from duolog.core.queues.message import OWN_PREFIX, MessageAttribute
from duolog.model.queue_errors import InvalidParameterValue
from duolog.sqs_api.validation.texts import check_characters, utf8_length
from duolog.wire.sqs.messages import MessageAttributeValue, MessageSystemAttributeValue

ATTRIBUTES_MAX = 10
TRACE_HEADER = "AWSTraceHeader"
"""The only system attribute that a sender may set."""

_TYPE_CHARS_MAX = 256

_name = re.compile(r"(?!\.)(?!.*\.\.)[A-Za-z0-9_.-]{1,256}(?<!\.)\Z").match
_reserved_name = re.compile(r"(?i:aws\.|amazon\.)|" + re.escape(OWN_PREFIX)).match
_type = re.compile(r"(String|Number|Binary)(?:\.[^\x00-\x1f]+)?\Z").match
_number = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z").match

AttributeValue = MessageAttributeValue | MessageSystemAttributeValue


def checked_attributes(
    given: Mapping[str, MessageAttributeValue],
) -> dict[str, MessageAttribute]:
    """The attributes, checked, in the form in which a message keeps them."""
    if len(given) > ATTRIBUTES_MAX:
        raise InvalidParameterValue(
            f"Number of message attributes [{len(given)}] exceeds the allowed maximum"
            f" [{ATTRIBUTES_MAX}]."
        )
    attributes = {}
    for name, value in given.items():
        _check_name(name)
        attributes[name] = MessageAttribute(value.data_type, _checked_value(name, value))
    return attributes


def checked_trace_header(given: Mapping[str, MessageSystemAttributeValue]) -> str | None:
    """The trace header, if given. Raises InvalidParameterValue for any other system attribute."""
    for name, value in given.items():
        if name != TRACE_HEADER:
            raise InvalidParameterValue(
                f"Message system attribute name '{name}' is invalid."
                f" The only one that can be sent is {TRACE_HEADER}."
            )
        if value.data_type != "String":
            raise InvalidParameterValue(f"The type of {TRACE_HEADER} must be String.")
        return _checked_value(name, value).decode()
    return None


def attributes_size(given: Mapping[str, MessageAttributeValue]) -> int:
    """Bytes by which attributes count towards their message's size."""
    size = 0
    for name, value in given.items():
        size += utf8_length(name) + utf8_length(value.data_type)
        if value.string_value is not None:
            size += utf8_length(value.string_value)
        if value.binary_value is not None:
            size += len(value.binary_value)
    return size


def _check_name(name: str) -> None:
    if not _name(name):
        raise InvalidParameterValue(
            f"Message attribute name '{name}' is invalid. It can have 1 to 256 letters, digits,"
            " underscores, hyphens and periods, no period first or last, and not two in a row."
        )
    if _reserved_name(name):
        raise InvalidParameterValue(
            f"Message attribute name '{name}' is invalid. Names that begin with AWS., Amazon."
            f" and {OWN_PREFIX} are reserved."
        )


def _checked_value(name: str, value: AttributeValue) -> bytes:
    if value.string_list_values or value.binary_list_values:
        raise InvalidParameterValue(
            "Message attribute list values in SendMessage operation are not supported."
        )
    kind = _type(value.data_type)
    if kind is None or len(value.data_type) > _TYPE_CHARS_MAX:
        raise InvalidParameterValue(
            f"The type of message (user) attribute '{name}' is invalid."
            " You must use only the following supported type prefixes: Binary, Number, String."
        )
    if kind[1] == "Binary":
        if not value.binary_value or value.string_value is not None:
            raise _wrong_value(name, value)
        return value.binary_value
    text = value.string_value
    if not text or value.binary_value is not None:
        raise _wrong_value(name, value)
    if kind[1] == "Number" and not _number(text):
        raise InvalidParameterValue(
            f"Can't cast the value of message (user) attribute '{name}' to a number."
        )
    check_characters(text)
    return text.encode()


def _wrong_value(name: str, value: AttributeValue) -> InvalidParameterValue:
    return InvalidParameterValue(
        f"Message (user) attribute '{name}' must contain a non-empty value of type"
        f" '{value.data_type}', and no other."
    )
