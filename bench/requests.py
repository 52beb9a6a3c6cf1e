"""Pre-encoded Produce v8 and Fetch v11 frames, and where load.c patches and checks them.

These are the highest versions without tagged fields, so every field sits at a fixed place.
Pure.
"""

from dataclasses import dataclass
from struct import pack

CLIENT_ID = "bench"


@dataclass(frozen=True, slots=True)
class Request:
    frame: bytes
    """The whole request, length prefix included."""
    partition_at: int
    """Where the partition's index (int32) is in the frame."""
    error_at: int
    """Where the partition's error code (int16) is in the response frame."""
    offset_at: int | None = None
    """Where the fetch offset (int64) is in the frame."""


def string(text: str) -> bytes:
    data = text.encode()
    return pack(">h", len(data)) + data


def frame(api_key: int, version: int, body: bytes, *, correlation_id: int = 0) -> bytes:
    """A request with header v1, behind its length."""
    payload = pack(">hhi", api_key, version, correlation_id) + string(CLIENT_ID) + body
    return pack(">i", len(payload)) + payload


def produce(topic: str, batch: bytes, *, acks: int = -1, timeout_ms: int = 30_000) -> Request:
    """Produce v8 of one batch to one partition."""
    head = pack(">hhii", -1, acks, timeout_ms, 1) + string(topic) + pack(">i", 1)
    tail = pack(">ii", 0, len(batch)) + batch
    whole = frame(0, 8, head + tail)
    # The response: length, correlation id, topics, name, partitions, index, error.
    error_at = 4 + 4 + 4 + len(string(topic)) + 4 + 4
    return Request(whole, partition_at=len(whole) - len(tail), error_at=error_at)


def fetch(topic: str, *, max_bytes: int, max_wait_ms: int = 500, min_bytes: int = 1) -> Request:
    """Fetch v11 of one partition, outside a fetch session."""
    head = pack(">iiiibiii", -1, max_wait_ms, min_bytes, max_bytes, 0, 0, -1, 1)
    head += string(topic) + pack(">i", 1)
    tail = pack(">iiqqi", 0, -1, 0, -1, max_bytes) + pack(">i", 0) + string("")
    whole = frame(1, 11, head + tail)
    partition_at = len(whole) - len(tail)
    # The response: length, correlation id, throttle time, error, session, topics, name,
    # partitions, index, error.
    error_at = 4 + 4 + 4 + 2 + 4 + 4 + len(string(topic)) + 4 + 4
    return Request(whole, partition_at, error_at, offset_at=partition_at + 8)
