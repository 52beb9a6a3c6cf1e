"""Deduplication keys of a queue's partition, as saved in its snapshots, and their encoding.

They follow the delivery state's image in pieces of their own, which a reader of the image alone
never comes to.
"""

import msgspec

_VERSION = b"\x01"


class KeyTable(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Keys of messages that were sent within about a minute. All `bytes` but the keys are columns
    (delivery_image.py)."""

    begun_ms: int
    """Time at which the minute began; tables of one minute share it."""
    keys: bytes = b""
    """The keys, one behind the other, ascending by offset."""
    offsets: bytes = b""
    first_offsets: bytes = b""
    """First offset of each stretch of messages that were sent in the same millisecond."""
    times_ms: bytes = b""


class SavedKeys(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """One piece of the saved keys; the last one has no table."""

    scope: str
    """Deduplication scope of which the keys are."""
    table: KeyTable | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SavedKeys).decode


def encode_saved_keys(saved: SavedKeys) -> bytes:
    return _VERSION + _encode(saved)


def decode_saved_keys(data: bytes) -> SavedKeys:
    """Decodes a piece; raises ValueError if it is damaged, or of an unknown version."""
    if data[:1] != _VERSION:
        raise ValueError("saved deduplication keys of an unknown version")
    try:
        return _decode(memoryview(data)[1:])
    except msgspec.MsgspecError as error:
        raise ValueError(f"saved deduplication keys are damaged: {error}") from error
