"""FETCH between nodes: a follower asks its leader for records.

A follower that copies many partitions from one leader names each of them once per session, and then
only those that have changed; the leader answers only with those that have news. Both bodies are
MessagePack; the answer's records follow it as they lie in the log.

u32 length of the head | head | records of the results, one after another
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

import msgspec

from duolog.wire.peer.frames import MalformedFrame

NO_SESSION = 0
NO_EPOCH = -1

_LENGTH = Struct(">I")


class CopyError(IntEnum):
    NONE = 0
    NOT_LEADER = 1
    """The node that was asked does not lead, or is suspended."""
    FENCED_EPOCH = 2
    """The follower's leader epoch is older than the leader's."""
    UNKNOWN_EPOCH = 3
    """The follower's leader epoch is newer: the leader has yet to learn of it."""
    UNKNOWN_TOPIC = 4
    """No topic of this id exists here; one of the same name is a different topic."""
    NOT_A_REPLICA = 5
    OUT_OF_RANGE = 6
    """Nothing can be copied from this offset; the answer has the log's start and end."""
    UNREADABLE = 7
    """The leader's own log is damaged there, or its disk fails."""


class CopyWanted(msgspec.Struct, frozen=True, array_like=True):
    topic_id: bytes
    index: int
    leader_epoch: int
    offset: int
    """Offset below which the follower has everything, as durably as the topic asks."""
    last_epoch: int
    """Leader epoch of the record before the wanted ones; -1 without records."""
    has_room: bool = True
    """True if records may be sent; False while the copy has to be truncated first."""
    is_in_doubt: bool = False
    """True if the records sent from there were damaged, so that the leader should verify its
    copy."""
    ahead: int = 0
    """Offsets that this session has received beyond `offset`, which are not durable yet."""

    @property
    def next_offset(self) -> int:
        """Offset from which records are wanted."""
        return self.offset + self.ahead


class CopyRequest(msgspec.Struct, frozen=True, array_like=True):
    session: int
    """Session id; NO_SESSION begins one, and names all partitions."""
    sequence: int
    """Number of the request within its session, so that a lost one is noticed."""
    wait_ms: int
    bytes_max: int
    wanted: list[CopyWanted]
    """Partitions that are new, or have changed since they were last named."""
    forgotten: list[tuple[bytes, int]] = []
    is_full: bool = False
    """True if the follower's disk has no room for new records."""


class CopyResult(msgspec.Struct, frozen=True, array_like=True):
    topic_id: bytes
    index: int
    error: int
    high_watermark: int
    start_offset: int
    end_offset: int
    next_offset: int
    """Offset at which to continue after the records: past a gap that follows them in the log."""
    length: int
    """Bytes of records."""
    diverging_epoch: int = NO_EPOCH
    """Epoch that ended here at `diverging_end`: the follower's last one, or the latest before
    it."""
    diverging_end: int = -1

    def must_be_answered(self, offset: int) -> bool:
        """True if it has more than new watermarks for a follower that asked from `offset`.

        The leader then says no more about the partition until the follower has named it again, as
        it does once it has processed this.
        """
        return (
            self.length > 0
            or self.error != CopyError.NONE
            or self.diverging_end >= 0
            or self.next_offset > offset
        )


class CopyAnswer(msgspec.Struct, frozen=True, array_like=True):
    session: int
    """Session id; NO_SESSION if the requested one is unknown: begin again."""
    results: list[CopyResult]


class Copied(NamedTuple):
    result: CopyResult
    records: memoryview


_encode = msgspec.msgpack.encode
_request_decoder = msgspec.msgpack.Decoder(CopyRequest)
_answer_decoder = msgspec.msgpack.Decoder(CopyAnswer)


def encode_request(request: CopyRequest) -> bytes:
    return _encode(request)


def decode_request(body: memoryview) -> CopyRequest:
    try:
        return _request_decoder.decode(body)
    except msgspec.DecodeError as error:
        raise MalformedFrame(f"a request for copies cannot be read: {error}") from None


def encode_answer_head(answer: CopyAnswer) -> bytes:
    head = _encode(answer)
    return _LENGTH.pack(len(head)) + head


def decode_answer(body: memoryview) -> tuple[int, list[Copied]]:
    """The session, and each result with its records."""
    if len(body) < _LENGTH.size:
        raise MalformedFrame("an answer with copies ends inside its length")
    (length,) = _LENGTH.unpack_from(body)
    end = _LENGTH.size + length
    if end > len(body):
        raise MalformedFrame("an answer with copies ends inside its head")
    try:
        answer = _answer_decoder.decode(body[_LENGTH.size : end])
    except msgspec.DecodeError as error:
        raise MalformedFrame(f"an answer with copies cannot be read: {error}") from None
    return answer.session, list(_with_records(answer.results, body[end:]))


def _with_records(results: list[CopyResult], records: memoryview) -> Iterator[Copied]:
    at = 0
    for result in results:
        if not 0 <= result.length <= len(records) - at:
            raise MalformedFrame("an answer has fewer records than it says")
        yield Copied(result, records[at : at + result.length])
        at += result.length
    if at != len(records):
        raise MalformedFrame("an answer has more records than it says")
