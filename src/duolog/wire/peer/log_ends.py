"""LOG_ENDS between nodes: where a node's logs of some partitions end, to compare copies.

Both bodies are MessagePack: a list of (topic id, index), and a list of equal length with
(last epoch, end offset), or nil for a partition of which the node holds no copy.
"""

from collections.abc import Sequence

import msgspec

from duolog.model.log_end import LogEnd
from duolog.wire.peer.frames import MalformedFrame

PLACES_MAX = 10_000
"""Maximum number of partitions in one request."""

Place = tuple[bytes, int]
"""A topic's id and a partition's index."""

_encode = msgspec.msgpack.encode
_places_decoder = msgspec.msgpack.Decoder(list[Place])
_ends_decoder = msgspec.msgpack.Decoder(list[LogEnd | None])


def encode_places(places: Sequence[Place]) -> bytes:
    return _encode(places)


def decode_places(body: memoryview) -> list[Place]:
    try:
        places = _places_decoder.decode(body)
    except msgspec.DecodeError as error:
        raise MalformedFrame(f"a request for log ends cannot be read: {error}") from None
    if len(places) > PLACES_MAX:
        raise MalformedFrame(f"a request for {len(places)} log ends is larger than {PLACES_MAX}")
    return places


def encode_ends(ends: Sequence[LogEnd | None]) -> bytes:
    return _encode(ends)


def decode_ends(body: memoryview, count: int) -> list[LogEnd | None]:
    """The ends of the `count` partitions that were asked for."""
    try:
        ends = _ends_decoder.decode(body)
    except msgspec.DecodeError as error:
        raise MalformedFrame(f"an answer with log ends cannot be read: {error}") from None
    if len(ends) != count:
        raise MalformedFrame(f"an answer has {len(ends)} log ends instead of {count}")
    return ends
