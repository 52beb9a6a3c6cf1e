"""What one node asks another about a queue that the other leads, and the bytes of it.

Every request names the queue's creation: what was meant for a deleted queue never touches its
namesake. A refusal of one of several items travels as `encode_refusal` writes it.
"""

from typing import Any, NamedTuple, TypeVar

import msgspec

from duolog.broker.queues.peeking import Page, Peeked
from duolog.broker.queues.receiving import Received
from duolog.broker.queues.sending import Sent
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.records.record import Record
from duolog.wire.peer.refusals import decode_refusal, encode_refusal

T = TypeVar("T")


class Asked(msgspec.Struct, frozen=True, array_like=True):
    queue: str
    id: bytes


class SendAsked(Asked, frozen=True, array_like=True):
    messages: tuple[Outgoing, ...]
    topic_revision: int
    """The revision of the topic by which the sender knows where groups go."""
    only_known_to: int | None
    """Only messages whose group, or whose earlier sending, this partition still knows."""


class AcceptAsked(Asked, frozen=True, array_like=True):
    records: tuple[Record, ...]
    topic_revision: int
    only_known_to: int | None


class ReceiveAsked(Asked, frozen=True, array_like=True):
    count: int
    visibility_ms: int | None
    attempt: str | None
    only_known: bool
    """Only what the same attempt got before."""


class WatchAsked(Asked, frozen=True, array_like=True):
    wait_ms: int


class DeleteAsked(Asked, frozen=True, array_like=True):
    handles: tuple[str, ...]


class VisibilityAsked(Asked, frozen=True, array_like=True):
    changes: tuple[tuple[str, int], ...]


class PartitionsAsked(Asked, frozen=True, array_like=True):
    """About these, one by one: none is forgotten, or counted twice, while leaders change."""

    partitions: tuple[int, ...]


class ReplayAsked(PartitionsAsked, frozen=True, array_like=True):
    from_ms: int
    to_ms: int


class LookAsked(Asked, frozen=True, array_like=True):
    partition: int
    from_offset: int
    limit: int
    state: str | None


class FindAsked(PartitionsAsked, frozen=True, array_like=True):
    message_id: str


class MoveAsked(Asked, frozen=True, array_like=True):
    destination: str | None
    count: int


class Level(NamedTuple):
    """How many messages there are, and when the oldest was sent."""

    ready: int
    in_flight: int
    delayed: int
    oldest_sent_ms: int | None
    records: int
    """Messages that are kept, the deleted ones among them."""
    has_any: bool = False
    """Whether a receive would get something: what is ready may be in a group that is locked."""


SentAnswer = list[Sent | bytes | None]
SettledAnswer = list[bytes | None]
ReceivedAnswer = list[Received]
PageAnswer = Page
FindAnswer = list[Peeked | None]

encode = msgspec.msgpack.Encoder().encode

_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def decode(body: bytes | memoryview, kind: Any) -> Any:
    """msgspec.MsgspecError for bytes that are nothing of the kind."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.msgpack.Decoder(kind)
    return decoder.decode(body)


def packed(results: list[T | Refusal]) -> list[T | bytes]:
    return [encode_refusal(each) if isinstance(each, Refusal) else each for each in results]


def unpacked(results: list[T | bytes]) -> list[T | Refusal]:
    return [
        decode_refusal(memoryview(each)) if isinstance(each, bytes) else each for each in results
    ]
