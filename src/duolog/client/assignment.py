"""The partitions that a member of a consumer group was assigned.

Every version of Kafka's ConsumerProtocolAssignment starts with a version and the partitions
by topic, so one reader serves them all.
"""

from struct import Struct
from struct import error as StructError

_VERSION_AND_COUNT = Struct(">hi")
_INT16 = Struct(">h")
_INT32 = Struct(">i")


def assigned_partitions(assignment: bytes) -> dict[str, tuple[int, ...]]:
    """Topic → partitions; empty if the bytes are no consumer assignment.

    Groups of other protocols (Kafka Connect, say) put their own format there.
    """
    assigned: dict[str, tuple[int, ...]] = {}
    try:
        version, count = _VERSION_AND_COUNT.unpack_from(assignment)
        at = _VERSION_AND_COUNT.size
        if version < 0 or not 0 <= count <= len(assignment):
            return {}
        for _ in range(count):
            (length,) = _INT16.unpack_from(assignment, at)
            at += _INT16.size
            name = assignment[at : at + length].decode()
            at += length
            (partitions,) = _INT32.unpack_from(assignment, at)
            at += _INT32.size
            if length < 0 or not 0 <= partitions <= len(assignment):
                return {}
            assigned[name] = Struct(f">{partitions}i").unpack_from(assignment, at)
            at += partitions * _INT32.size
    except (StructError, UnicodeDecodeError):
        return {}
    return assigned
