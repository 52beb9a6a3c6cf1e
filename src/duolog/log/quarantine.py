"""Quarantine: damage before the tail of a log, which is kept, reported, and never served.

The bytes stay where they are, for an operator or a replica to restore.
"""

from collections.abc import Iterable

import msgspec

from duolog.log.checked_file import read_checked, write_checked
from duolog.ports.disk import Disk

QUARANTINE_FILE = "quarantine.json"


class DamagedRange(msgspec.Struct, frozen=True, order=True):
    segment_base: int
    position: int
    length: int
    """Bytes damaged; 0 if offsets are missing without a trace, because the file ends too early."""
    first_offset: int
    next_offset: int
    reason: str

    @property
    def end_position(self) -> int:
        return self.position + self.length


def read_quarantine(disk: Disk, directory: str) -> list[DamagedRange]:
    """Stored damage; an unreadable list reads as empty, since a scan finds the damage again."""
    body = read_checked(disk, f"{directory}/{QUARANTINE_FILE}")
    if body is None:
        return []
    try:
        return msgspec.json.decode(body, type=list[DamagedRange])
    except msgspec.DecodeError:
        return []


def write_quarantine(disk: Disk, directory: str, ranges: Iterable[DamagedRange]) -> None:
    body = msgspec.json.encode(sorted(ranges))
    write_checked(disk, f"{directory}/{QUARANTINE_FILE}", body)


def merge_ranges(ranges: Iterable[DamagedRange]) -> tuple[DamagedRange, ...]:
    """Sorts and merges, so that each byte and offset is in one range only."""
    merged: list[DamagedRange] = []
    for damage in sorted(ranges):
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.segment_base == damage.segment_base
            and (damage.position < last.end_position or damage.first_offset < last.next_offset)
        ):
            end = max(last.end_position, damage.end_position)
            merged[-1] = DamagedRange(
                last.segment_base,
                last.position,
                end - last.position,
                min(last.first_offset, damage.first_offset),
                max(last.next_offset, damage.next_offset),
                last.reason,
            )
        else:
            merged.append(damage)
    return tuple(merged)
