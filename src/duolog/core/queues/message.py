"""Codec between queue messages and records of a topic. Pure: no clock, no IO.

value    the body, in UTF-8
key      the message group
headers  attributes by name, with their raw values; SQS's own properties are in headers whose
         names begin with `duolog.`

A Kafka client therefore reads body and attributes as they were sent, and a record that it produces
becomes a message: headers are string attributes. A value that is not text that SQS can carry
arrives as bytes; in names, which cannot be bytes, a replacement character marks the damage.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from duolog.core.queues.deduplication import deduplication_key
from duolog.core.queues.plain_text import is_plainly_carried
from duolog.model.characters import forbidden_character, without_forbidden
from duolog.records.record import Record

OWN_PREFIX = "duolog."
TYPES = "duolog.types"
"""Types of attributes that are not plain strings, as JSON by attribute name."""
DEDUPLICATION = "duolog.deduplication"
TRACE = "duolog.trace"
DELAY = "duolog.delay"
"""Milliseconds for which the message is hidden after it was sent."""
FAIR = "duolog.fair"
"""Marks the key as a message group in a standard queue, where a key is otherwise only a key."""
SENDER = "duolog.sender"
SOURCE = "duolog.source"
"""Queue from which the message went to its dead-letter queue."""
ORIGIN = "duolog.origin"
"""Message id that a moved message had first, and keeps."""
MOVE = "duolog.move"
"""Unique name of the last move of a message; unlike the message id it differs in each move."""
SENT = "duolog.sent"
"""Time at which a moved message was first sent."""
ENCODING = "duolog.encoding"
"""Attribute that tells consumers how a Kafka producer's value that is not text is encoded."""

STRING = "String"
BINARY = "Binary"

_decode_types = msgspec.json.Decoder(dict[str, str]).decode


class MessageAttribute(NamedTuple):
    data_type: str
    value: bytes
    """Raw value; strings and numbers in UTF-8."""


_NO_ATTRIBUTES: Mapping[str, MessageAttribute] = {}


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """One message to send, with validated parameters.

    A Struct, as Message is: it is made in a third of the time that a NamedTuple takes.
    """

    body: str
    attributes: Mapping[str, MessageAttribute] = {}
    delay_seconds: int | None = None
    group_id: str | None = None
    deduplication_id: str | None = None
    trace_header: str | None = None
    sender_id: str = ""
    """Sender's principal; empty for the account itself."""

    @property
    def is_plain(self) -> bool:
        """True if the message is only a body, apart from a delay."""
        return not (
            self.attributes
            or self.group_id is not None
            or self.deduplication_id is not None
            or self.trace_header is not None
            or self.sender_id
        )


class Message(msgspec.Struct, frozen=True, gc=False):
    body: str
    attributes: Mapping[str, MessageAttribute]
    group_id: str | None
    sent_ms: int
    deduplication_id: str | None = None
    trace_header: str | None = None
    sender_id: str = ""
    dead_letter_source: str | None = None
    origin: str | None = None
    """Id that a moved message keeps; None if it was never moved."""


def to_record(message: Outgoing, *, fifo: bool, delay_ms: int, now_ms: int) -> Record:
    if not delay_ms and message.is_plain:
        return Record(None, message.body.encode(), (), now_ms)
    group = message.group_id
    headers: list[tuple[str, bytes | None]] = []
    types: dict[str, str] = {}
    for name, attribute in message.attributes.items():
        headers.append((name, attribute.value))
        if attribute.data_type != STRING:
            types[name] = attribute.data_type
    if types:
        headers.append((TYPES, msgspec.json.encode(types)))
    if message.deduplication_id is not None:
        headers.append((DEDUPLICATION, message.deduplication_id.encode()))
    if message.trace_header is not None:
        headers.append((TRACE, message.trace_header.encode()))
    if delay_ms:
        headers.append((DELAY, b"%d" % delay_ms))
    if group is not None and not fifo:
        headers.append((FAIR, b""))
    if message.sender_id:
        headers.append((SENDER, message.sender_id.encode()))
    return Record(
        None if group is None else group.encode(), message.body.encode(), tuple(headers), now_ms
    )


def from_record(record: Record) -> Message:
    key = record.key
    if not record.headers:
        body, attributes = _body(record.value or b"")
        return Message(body, attributes, None if key is None else _text(key), record.timestamp)
    own: dict[str, bytes] = {}
    given: dict[str, bytes] = {}
    for name, value in record.headers:
        (own if name.startswith(OWN_PREFIX) else given)[name] = value or b""
    types = _types(own.get(TYPES))
    body, attributes = _body(record.value or b"")
    for name, value in given.items():
        data_type = types.get(name) or STRING
        if not data_type.startswith(BINARY) and _carried_text(value) is None:
            data_type = BINARY
        attributes[without_forbidden(name)] = MessageAttribute(data_type, value)
    return Message(
        body,
        attributes,
        _text(key),
        _number(own.get(SENT), record.timestamp),
        _text(own.get(DEDUPLICATION)),
        _text(own.get(TRACE)),
        _text(own.get(SENDER)) or "",
        _text(own.get(SOURCE)),
        _text(own.get(ORIGIN)),
    )


def plain_message(body: bytes, sent_ms: int) -> Message:
    return Message(body.decode(), _NO_ATTRIBUTES, None, sent_ms)


def moved_record(
    record: Record, *, source: str | None, origin: str, move: str, now_ms: int
) -> Record:
    """The record as it goes to another queue: same content, id and time of sending.

    A source is given when it becomes a dead letter, and dropped when it comes back.
    """
    own = {name: value for name, value in record.headers if name in (ORIGIN, SENT)}
    headers = [
        (name, value)
        for name, value in record.headers
        if name not in (ORIGIN, MOVE, SENT, SOURCE, DELAY)
    ]
    headers.append((ORIGIN, own.get(ORIGIN) or origin.encode()))
    headers.append((MOVE, move.encode()))
    headers.append((SENT, own.get(SENT) or b"%d" % record.timestamp))
    if source is not None:
        headers.append((SOURCE, source.encode()))
    return Record(record.key, record.value, tuple(headers), now_ms)


def group_of(record: Record, *, fifo: bool) -> bytes | None:
    """Message group of a record. In a FIFO queue, records without a key share one: they are
    ordered, too."""
    if fifo:
        return record.key or b""
    return record.key if record.headers and _header(record, FAIR) is not None else None


def delay_of(record: Record) -> int:
    """Milliseconds for which the record is hidden after its timestamp."""
    return _number(_header(record, DELAY), 0) if record.headers else 0


def deduplication_id_of(record: Record) -> bytes | None:
    return _header(record, DEDUPLICATION) if record.headers else None


def moved_key(record: Record) -> bytes | None:
    """Deduplication key of a message that was moved from another queue; None for others.

    Identifies the move, not the message: one that is moved back may die again within minutes.
    """
    move = _header(record, MOVE) if record.headers else None
    # No client's deduplication id begins with a zero byte.
    return None if move is None else deduplication_key(b"\0moved:" + move, None)


def key_of(record: Record, *, by_group: bool) -> bytes | None:
    """Deduplication key of a message in a FIFO queue's log; None if it has none."""
    key = moved_key(record)
    if key is None and (given := deduplication_id_of(record)) is not None:
        key = deduplication_key(given, group_of(record, fifo=True) if by_group else None)
    return key


def source_of(record: Record) -> str | None:
    return _text(_header(record, SOURCE)) if record.headers else None


def _header(record: Record, wanted: str) -> bytes | None:
    for name, value in record.headers:
        if name == wanted:
            return value
    return None


def _body(value: bytes) -> tuple[str, dict[str, MessageAttribute]]:
    text = _carried_text(value)
    if text is not None:
        return text, {}
    # SQS carries text only; any other value of a Kafka producer must still arrive whole.
    encoded = b64encode(value).decode()
    return encoded, {ENCODING: MessageAttribute(STRING, b"base64")}


def _carried_text(value: bytes) -> str | None:
    """The text; None if it is not UTF-8, or has characters that SQS forbids."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return text if is_plainly_carried(text) or forbidden_character(value) is None else None


def _types(value: bytes | None) -> Mapping[str, str]:
    if value is None:
        return {}
    try:
        return _decode_types(value)
    except msgspec.MsgspecError:
        return {}


def _text(value: bytes | None) -> str | None:
    return None if value is None else without_forbidden(value.decode(errors="replace"))


def _number(value: bytes | None, default: int) -> int:
    return int(value) if value is not None and value.isdigit() and len(value) < 19 else default
