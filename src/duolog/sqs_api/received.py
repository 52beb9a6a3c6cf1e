"""A received message, with the attributes that the receive asked for."""

from collections.abc import Mapping, Sequence

from duolog.broker.queues.receiving import Received
from duolog.core.queues.message import BINARY, MessageAttribute
from duolog.model.queue_errors import InvalidAttributeName
from duolog.sqs_api.context import Context
from duolog.wire.sqs.digests import md5_of_attributes
from duolog.wire.sqs.enumerations import MESSAGE_SYSTEM_ATTRIBUTES
from duolog.wire.sqs.messages import Message, MessageAttributeValue

ALL = "All"
_ALL_ATTRIBUTES = frozenset((ALL, ".*", "*"))
_PREFIX_MARK = ".*"


class Wanted:
    """Selection of attributes that a receive asks for: system ones, and those of the sender."""

    __slots__ = ("_all", "_names", "_prefixes", "_system")

    def __init__(self, system: Sequence[str], given: Sequence[str]) -> None:
        for name in system:
            if name not in MESSAGE_SYSTEM_ATTRIBUTES:
                raise InvalidAttributeName(f"Unknown Attribute {name}.")
        self._system = MESSAGE_SYSTEM_ATTRIBUTES if ALL in system else system
        self._names = given
        self._all = False
        self._prefixes: tuple[str, ...] = ()
        if given:
            self._all = not _ALL_ATTRIBUTES.isdisjoint(given)
            self._prefixes = tuple(
                name[: -len(_PREFIX_MARK)] for name in given if name.endswith(_PREFIX_MARK)
            )

    @classmethod
    def of(
        cls,
        system: Sequence[str] | None,
        older_system: Sequence[str] | None,
        given: Sequence[str] | None,
    ) -> "Wanted":
        """The selection named in a request; most requests name no attributes."""
        if not (system or older_system or given):
            return NOTHING
        return cls([*(system or ()), *(older_system or ())], given or ())

    def messages(self, results: Sequence[Received], context: Context) -> tuple[list[Message], int]:
        """The messages as the API shows them, and the total bytes of their bodies."""
        messages: list[Message] = []
        size = 0
        for each in results:
            body = each.message.body
            # Inlines `body_size`, to save a call per message.
            size += len(body) if body.isascii() else len(body.encode())
            message = Message(each.message_id, each.receipt_handle, each.body_md5, body)
            if self is not NOTHING:
                self._add_attributes(message, each, context)
            messages.append(message)
        return messages, size

    def _add_attributes(self, message: Message, received: Received, context: Context) -> None:
        given = received.message.attributes
        if self._system:
            message.attributes = self._system_attributes(received, context)
        if given and self._names and (chosen := self._chosen(given)):
            message.md5_of_message_attributes = md5_of_attributes(chosen)
            message.message_attributes = {name: _value(each) for name, each in chosen.items()}

    def _chosen(self, attributes: Mapping[str, MessageAttribute]) -> dict[str, MessageAttribute]:
        return {
            name: attribute
            for name, attribute in attributes.items()
            if self._all or name in self._names or name.startswith(self._prefixes)
        }

    def _system_attributes(self, received: Received, context: Context) -> dict[str, str]:
        message = received.message
        source = message.dead_letter_source
        known = {
            "SenderId": message.sender_id or context.account_id,
            "SentTimestamp": str(message.sent_ms),
            "ApproximateReceiveCount": str(received.receive_count),
            "ApproximateFirstReceiveTimestamp": str(received.first_received_ms),
            "SequenceNumber": received.sequence_number,
            "MessageDeduplicationId": message.deduplication_id,
            "MessageGroupId": message.group_id,
            "AWSTraceHeader": message.trace_header,
            "DeadLetterQueueSourceArn": None if source is None else context.arns.of(source),
        }
        wanted = self._system
        return {
            name: value for name, value in known.items() if value is not None and name in wanted
        }


NOTHING = Wanted((), ())
"""Selection of no attributes: only the body."""


def _value(attribute: MessageAttribute) -> MessageAttributeValue:
    data_type, value = attribute
    if data_type.startswith(BINARY):
        return MessageAttributeValue(data_type, binary_value=value)
    return MessageAttributeValue(data_type, string_value=value.decode())
