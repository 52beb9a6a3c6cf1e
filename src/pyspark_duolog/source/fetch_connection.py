"""A task's connection for one partition: Fetch only, synchronous, without copies.

A task is a process that waits for nothing else, and responses are large: they are received straight
into one buffer, and the records are decoded in place. Topics are named by id, so that a broker
refuses to read one that was deleted and recreated.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from struct import error as StructError
from typing import NamedTuple
from uuid import UUID

import numpy as np

from duolog.client.errors import Endpoint, Garbled, Refused, Unreachable, reason_of
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.error_codes import ErrorCode
from duolog.wire.kafka.errors import MalformedMessage
from duolog.wire.kafka.frames import encode_header, parse_response_header
from duolog.wire.kafka.messages import encode_request
from duolog.wire.kafka.primitives import read_uvarint, skip_tags

FETCH_VERSION = 13
"""First version of Fetch that names topics by id."""
FRAME_BYTES_MAX = 1 << 30
CONNECT_SECONDS_MAX = 5.0
ANSWER_SECONDS_MAX = 30.0
WAIT_MS = 500
"""Longest time that a broker parks a fetch that finds nothing."""

_RECEIVE_BYTES = 4 << 20
"""Socket receive buffer, large so that the next response arrives while the last one is decoded."""
_WAKE_BYTES = 256 << 10
"""Low-water mark of the socket: waking for every packet costs both sides a third more."""
_SIZE = Struct(">i")
_TOP = Struct(">ihi")
_PARTITION = Struct(">ihq16x")
_PREFERRED_REPLICA_BYTES = 4
_ABORTED_BYTES = 17
_UUID_BYTES = 16


def _ignore(records: memoryview, count: int) -> None:
    """Do nothing, for callers that read the records once all are there."""


class Answer(NamedTuple):
    error: str | None
    high_watermark: int
    batches: memoryview
    """Valid until the next answer is received."""


class FetchConnection:
    def __init__(self, endpoint: Endpoint, *, client_id: str) -> None:
        self._endpoint = endpoint
        self._client_id = client_id
        self._correlation_id = 0
        self._buffer = memoryview(b"")
        self._wakes_at = 1
        try:
            self._socket = socket.create_connection(endpoint, CONNECT_SECONDS_MAX)
        except OSError as error:
            raise Unreachable(endpoint, f"cannot be connected to: {reason_of(error)}") from None
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        self._socket.settimeout(ANSWER_SECONDS_MAX)

    def send(self, topic_id: UUID, partition: int, offset: int, bytes_max: int) -> None:
        """Request records from an offset on; `receive` returns the answer."""
        self._correlation_id += 1
        wanted = {
            "partition": partition,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": bytes_max,
        }
        fields = {
            "replica_id": -1,
            "max_wait": WAIT_MS,
            "min_bytes": 1,
            "max_bytes": bytes_max,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic_id": topic_id, "partitions": [wanted]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        header = encode_header(ApiKey.FETCH, FETCH_VERSION, self._correlation_id, self._client_id)
        body = encode_request(ApiKey.FETCH, FETCH_VERSION, fields)
        try:
            self._socket.sendall(_SIZE.pack(len(header) + len(body)) + header + body)
        except OSError as error:
            raise self._gone(error) from None

    def receive(self, came: Callable[[memoryview, int], None] = _ignore) -> Answer:
        """Receive the answer.

        `came` is called while its records arrive: with the view in which they lie, and the number
        of their bytes received so far.
        """
        try:
            (size,) = _SIZE.unpack(self._exactly(_SIZE.size))
            if not 0 < size <= FRAME_BYTES_MAX:
                raise MalformedMessage(f"a frame of {size} bytes")
            frame = self._exactly(size, came)
            correlation_id, at = parse_response_header(
                ApiKey.FETCH, FETCH_VERSION, frame, 0, len(frame)
            )
            if correlation_id != self._correlation_id:
                raise MalformedMessage("an answer to another request")
            return parse_answer(frame, at)
        except OSError as error:
            raise self._gone(error) from None
        except (MalformedMessage, StructError, IndexError) as error:
            raise Garbled(f"a broker sent an invalid Fetch response: {error}") from None

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int, came: Callable[[memoryview, int], None] = _ignore) -> memoryview:
        if len(self._buffer) < size:
            # A quarter larger than needed: the next response is rarely of quite the same size, and
            # fresh memory is slow.
            self._buffer = memoryview(np.empty(size + size // 4, np.uint8).data)
        view = self._buffer[:size]
        received = 0
        while received < size:
            self._wake_at(min(size - received, _WAKE_BYTES))
            try:
                count = self._socket.recv_into(view[received:])
            except TimeoutError:
                count = self._what_is_there(view[received:])
            if not count:
                raise Unreachable(self._endpoint, "closed the connection")
            received += count
            _tell(view, received, came)
        return view

    def _what_is_there(self, view: memoryview) -> int:
        """Receive what a slow connection has, below the low-water mark.

        TimeoutError if that is nothing: then the connection is not slow, but silent.
        """
        self._wake_at(1)
        self._socket.setblocking(False)
        try:
            return self._socket.recv_into(view)
        except BlockingIOError:
            raise TimeoutError("timed out") from None
        finally:
            self._socket.settimeout(ANSWER_SECONDS_MAX)

    def _wake_at(self, count: int) -> None:
        """Set the low-water mark: the socket wakes once so many bytes are there, or the connection
        ends."""
        if count != self._wakes_at:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._wakes_at = count

    def _gone(self, error: OSError) -> Unreachable:
        return Unreachable(self._endpoint, f"went away: {reason_of(error)}")


def _tell(frame: memoryview, received: int, came: Callable[[memoryview, int], None]) -> None:
    """Report the records received so far; malformed heads are reported only by parse_answer."""
    if came is _ignore:
        return
    with suppress(Refused, MalformedMessage, StructError, IndexError):
        _, at = parse_response_header(ApiKey.FETCH, FETCH_VERSION, frame, 0, len(frame))
        _, _, at, end = _parse_head(frame, at)
        # Beyond the received bytes lie those of an earlier answer.
        if at <= received:
            came(frame[at:end], min(received, end) - at)


def parse_answer(frame: memoryview, at: int) -> Answer:
    """Parse the answer for one partition. kio's decoder would copy the records."""
    error, high_watermark, at, end = _parse_head(frame, at)
    frame_end = end
    for _ in ("partition", "topic", "response"):
        frame_end = skip_tags(frame, frame_end, len(frame))
    if frame_end != len(frame):
        raise MalformedMessage("a response does not end where its frame ends")
    return Answer(error, high_watermark, frame[at:end])


def _parse_head(frame: memoryview, at: int) -> tuple[str | None, int, int, int]:
    """The error, the high watermark, and the start and end of the records."""
    _, error, _ = _TOP.unpack_from(frame, at)
    at += _TOP.size
    refusal = _name(error)
    if refusal is not None:
        raise Refused(refusal, "a fetch")
    at = _expect_one(frame, at)
    at = _expect_one(frame, at + _UUID_BYTES)
    _, error, high_watermark = _PARTITION.unpack_from(frame, at)
    aborted, at = read_uvarint(frame, at + _PARTITION.size)
    at += max(aborted - 1, 0) * _ABORTED_BYTES + _PREFERRED_REPLICA_BYTES
    size, at = read_uvarint(frame, at)
    return _name(error), high_watermark, at, at + max(size - 1, 0)


def _expect_one(frame: memoryview, at: int) -> int:
    count, at = read_uvarint(frame, at)
    if count != 2:
        raise MalformedMessage("not the one partition that was asked for")
    return at


def _name(error: int) -> str | None:
    if not error:
        return None
    return next((each.name for each in ErrorCode if each == error), f"error {error}")
