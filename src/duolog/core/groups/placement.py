"""Maps a group to its partition of the offsets topic, by Kafka's rule so that its tools agree."""

_INT32_MIN = -(1 << 31)


def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, wrapping at 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFF_FFFF
    return value - (1 << 32) if value & 0x8000_0000 else value


def partition_for(group_id: str, partitions: int) -> int:
    value = java_hash(group_id)
    # Java cannot negate the smallest int; Kafka uses 0 as its absolute value.
    return 0 if value == _INT32_MIN else abs(value) % partitions
