"""Maps a message group to its partition. Pure: no clock, no IO."""

from hashlib import blake2b

_STEP = 2862933555777941757
_MASK = (1 << 64) - 1
_SCALE = 1 << 31


def partition_for_group(group: bytes, partitions: int) -> int:
    """Partition by jump hash: when partitions are added, a group stays or moves to an added one."""
    return 0 if partitions == 1 else partitions_for_group(group, partitions)[-1]


def partitions_for_group(group: bytes, partitions: int) -> list[int]:
    """Partitions to which the group went at any smaller number of them; the present one is last."""
    key = int.from_bytes(blake2b(group, digest_size=8).digest(), "big")
    chosen, candidate = [], 0
    while candidate < partitions:
        chosen.append(candidate)
        key = (key * _STEP + 1) & _MASK
        candidate = int((candidate + 1) * (_SCALE / ((key >> 33) + 1)))
    return chosen
