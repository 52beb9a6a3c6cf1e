"""Requests between nodes about queues, and their encoding.

Every request names the queue's id, so that none meant for a deleted queue touches a namesake. The
refusal of a single item is encoded by `encode_refusal`.
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
    """Revision of the topic by which the sender has placed the messages' groups."""
    only_known_to: int | None
    """Partition that takes only messages whose group it has, or that it had before; or None."""


class AcceptAsked(Asked, frozen=True, array_like=True):
    records: tuple[Record, ...]
    topic_revision: int
    only_known_to: int | None


class ReceiveAsked(Asked, frozen=True, array_like=True):
    count: int
    visibility_ms: int | None
    attempt: str | None
    only_known: bool
    """True: return only messages that an earlier receive of the same attempt id got."""


class WatchAsked(Asked, frozen=True, array_like=True):
    wait_ms: int


class DeleteAsked(Asked, frozen=True, array_like=True):
    handles: tuple[str, ...]


class VisibilityAsked(Asked, frozen=True, array_like=True):
    changes: tuple[tuple[str, int], ...]


class PartitionsAsked(Asked, frozen=True, array_like=True):
    """Names partitions one by one, so that none is missed or counted twice while leaders change."""

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
    """Message counts of a partition or queue, and the send time of the oldest message."""

    ready: int
    in_flight: int
    delayed: int
    oldest_sent_ms: int | None
    records: int
    """Number of stored messages, including deleted ones that are still kept."""
    has_any: bool = False
    """True if a receive would get something; ready messages may be in locked groups."""


SentAnswer = list[Sent | bytes | None]
SettledAnswer = list[bytes | None]
ReceivedAnswer = list[Received]
PageAnswer = Page
FindAnswer = list[Peeked | None]

encode = msgspec.msgpack.Encoder().encode

_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def decode(body: bytes | memoryview, kind: Any) -> Any:
    """Decodes a request or an answer; raises msgspec.MsgspecError if malformed."""
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
