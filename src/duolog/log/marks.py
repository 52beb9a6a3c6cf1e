"""Offsets that a partition stores beside its segments."""

import msgspec

from duolog.log.checked_file import read_checked, write_checked
from duolog.ports.disk import Disk

MARKS_FILE = "marks"


class Marks(msgspec.Struct, frozen=True):
    start_offset: int = 0
    """First readable offset; segments that end at or below it may be removed."""
    cleaned_offset: int = 0
    """Offset below which compaction has seen everything."""
    rescan_offset: int | None = None
    """Set by a truncation: recovery points above it may refer to records that were cut."""


def read_marks(disk: Disk, directory: str) -> Marks:
    body = read_checked(disk, f"{directory}/{MARKS_FILE}")
    if body is None:
        return Marks()
    try:
        return msgspec.json.decode(body, type=Marks)
    except msgspec.DecodeError:
        return Marks()


def write_marks(disk: Disk, directory: str, marks: Marks) -> None:
    write_checked(disk, f"{directory}/{MARKS_FILE}", msgspec.json.encode(marks))
