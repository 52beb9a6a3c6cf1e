"""Reads and writes the two index files of a segment."""

from contextlib import suppress

from duolog.log.file_names import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from duolog.log.sparse_index import TIME_ENTRY, SparseIndex
from duolog.ports.disk import Disk, File


def load_index(disk: Disk, stem: str, size: int) -> tuple[SparseIndex, bool]:
    """The plausible entries for a segment of that size; True if the files hold no others."""
    entries = _read_all(disk, stem + INDEX_SUFFIX)
    times = _read_all(disk, stem + TIME_INDEX_SUFFIX)
    index = SparseIndex.decode(entries, times, size)
    return index, index.covers(entries, times)


def read_last_time(disk: Disk, stem: str, relative_end: int) -> int | None:
    """The largest timestamp of a sealed segment, without reading its whole index.

    None if the last entry is not that of the segment's end.
    """
    try:
        file = disk.open(stem + TIME_INDEX_SUFFIX)
    except FileNotFoundError:
        return None
    data = file.pread(TIME_ENTRY.size, max(0, file.size() - TIME_ENTRY.size))
    file.close()
    if len(data) < TIME_ENTRY.size:
        return None
    timestamp, offset = TIME_ENTRY.unpack(data)
    return int(timestamp) if offset == relative_end else None


def save_index(disk: Disk, stem: str, index: SparseIndex, *, cut: bool = False) -> None:
    """Writes the entries that the files lack; `cut` also removes what follows them.

    Failures are ignored: a missing index is rebuilt from the segment, and a full disk must not fail
    a batch that is already stored.
    """
    if index.saved < len(index) or cut:
        with suppress(OSError):
            _write(disk, stem, index, cut=cut)


def cut_index(disk: Disk, stem: str, index: SparseIndex) -> list[File]:
    """Leaves only these entries in the files; the caller has yet to sync them."""
    return _write(disk, stem, index, cut=True)


def write_index(disk: Disk, stem: str, index: SparseIndex, *, name_suffix: str) -> None:
    """Writes all entries, durably, to files whose names end with `name_suffix`."""
    for file in _write(disk, stem, index, cut=True, name_suffix=name_suffix):
        file.sync()


def remove_index(disk: Disk, stem: str) -> None:
    disk.remove(stem + INDEX_SUFFIX)
    disk.remove(stem + TIME_INDEX_SUFFIX)


def _write(
    disk: Disk, stem: str, index: SparseIndex, *, cut: bool, name_suffix: str = ""
) -> list[File]:
    position, entries, time_position, times = index.encode_unsaved()
    files = []
    for suffix, at, data in (
        (INDEX_SUFFIX, position, entries),
        (TIME_INDEX_SUFFIX, time_position, times),
    ):
        file = disk.open(stem + suffix + name_suffix, create=True)
        if data:
            file.pwritev([data], at)
        if cut:
            file.truncate(at + len(data))
        files.append(file)
    index.saved = len(index)
    return files


def _read_all(disk: Disk, path: str) -> bytes:
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return b""
    data = file.pread(file.size(), 0)
    file.close()
    return data
