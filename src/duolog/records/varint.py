"""Zigzag varints of records: 32 bits for lengths and offsets, 64 for timestamps."""

from duolog.model.errors import CorruptBatch

_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1
_ONE_BYTE = tuple(bytes((zigzag,)) for zigzag in range(0x80))


def wrapped(value: int) -> int:
    """Sum or difference of two timestamps, wrapped to 64 bits.

    Clients add and subtract them as machine words. Doing the same makes every difference fit, and
    lets any record be moved to any base and back.
    """
    if _INT64_MIN <= value <= _INT64_MAX:
        return value
    return (value - _INT64_MIN) % (1 << 64) + _INT64_MIN


def encode_varint(value: int) -> bytes:
    """Encodes either width: a 32-bit number is written the same way in both."""
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    if zigzag < 0x80:
        return _ONE_BYTE[zigzag]
    if zigzag < 0x4000:
        return bytes((zigzag & 0x7F | 0x80, zigzag >> 7))
    encoded = bytearray()
    while zigzag >= 0x80:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)


def read_varint(data: bytes | memoryview, at: int, bits: int = 32) -> tuple[int, int]:
    """The number of at most `bits` at `at`, and the position after it."""
    try:
        # Nearly every number in a record takes one byte or two.
        first = data[at]
        if first < 0x80:
            return (first >> 1) ^ -(first & 1), at + 1
        second = data[at + 1]
        if second < 0x80:
            return (first & 0x7F | second << 7) >> 1 ^ -(first & 1), at + 2
        zigzag = 0
        for shift in range(0, bits, 7):
            byte = data[at]
            at += 1
            zigzag |= (byte & 0x7F) << shift
            if byte < 0x80:
                if zigzag >> bits:
                    break
                return (zigzag >> 1) ^ -(zigzag & 1), at
    except IndexError:
        raise CorruptBatch("the records end inside a number") from None
    raise CorruptBatch(f"a number of more than {bits} bits")
