"""Maps a key to its partition by murmur2, like the Java client's default partitioner."""

_SEED = 0x9747B28C
_M = 0x5BD1E995
_WORD = 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    hashed = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _M & _WORD
        word = (word ^ word >> 24) * _M & _WORD
        hashed = (hashed * _M & _WORD) ^ word
    if whole < len(data):
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _M & _WORD
    hashed = (hashed ^ hashed >> 13) * _M & _WORD
    return hashed ^ hashed >> 15
