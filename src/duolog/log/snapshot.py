"""Snapshots of state that an owner derives from the log, each named by its offset.

Files are `<offset 20 digits>.<kind>`. Nothing here touches the log's own state, so writing one may
be offloaded.
"""

from collections.abc import Iterable

from duolog.log.checked_file import read_checked, write_checked
from duolog.log.file_names import SEGMENT_SUFFIXES, offset_name, parse_name
from duolog.ports.disk import Disk

SNAPSHOTS_KEPT = 2
"""Number of snapshots kept: if the newest is damaged, another is left to start from."""


class SnapshotStore:
    __slots__ = ("_directory", "_disk")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory

    def write(self, kind: str, offset: int, data: bytes) -> None:
        assert kind.isidentifier()
        assert f".{kind}" not in SEGMENT_SUFFIXES
        write_checked(self._disk, self._path(kind, offset), data)
        for old in self._offsets(kind)[:-SNAPSHOTS_KEPT]:
            self._disk.remove(self._path(kind, old))

    def remove(self, kind: str, offset: int) -> None:
        """Removes a snapshot, durably."""
        self._disk.remove(self._path(kind, offset))
        self._disk.directory(self._directory).sync()

    def latest(self, kind: str, at_most: int) -> tuple[int, bytes] | None:
        """Offset and content of the newest intact snapshot at or below the offset."""
        for offset in reversed(self._offsets(kind)):
            if offset <= at_most:
                data = read_checked(self._disk, self._path(kind, offset))
                if data is not None:
                    return offset, data
        return None

    def remove_above(self, offset: int, names: Iterable[str] | None = None) -> bool:
        """Removes snapshots of records that are gone; True if there was any.

        `names` are the directory's, if the caller has listed it already.
        """
        removed = False
        for name in self._disk.list_names(self._directory) if names is None else names:
            parsed = parse_name(name)
            if parsed and parsed[0] > offset and parsed[1][1:].isidentifier():
                if parsed[1] in SEGMENT_SUFFIXES:
                    continue
                self._disk.remove(f"{self._directory}/{name}")
                removed = True
        return removed

    def _path(self, kind: str, offset: int) -> str:
        return f"{self._directory}/{offset_name(offset)}.{kind}"

    def _offsets(self, kind: str) -> list[int]:
        found = map(parse_name, self._disk.list_names(self._directory))
        return sorted(parsed[0] for parsed in found if parsed and parsed[1] == f".{kind}")
