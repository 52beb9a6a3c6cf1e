"""Small files that are replaced as a whole and carry a checksum."""

from crc32c import crc32c

from duolog.ports.disk import Disk, File

TEMPORARY_SUFFIX = ".tmp"
_TAG = b"duolog1 "
_PREFIX_BYTES = len(_TAG) + 8 + 1


def write_checked(disk: Disk, path: str, body: bytes) -> None:
    """Replaces the file, durably; a crash before that leaves the previous content."""
    file = _write_beside(disk, path, body)
    file.sync()
    file.close()
    disk.rename(path + TEMPORARY_SUFFIX, path)
    disk.directory(parent_of(path)).sync()


def write_checked_unsynced(disk: Disk, path: str, body: bytes) -> File:
    """Replaces the file and returns it; the caller syncs it, and then its directory.

    A crash before that may leave the previous content, the new one, or a damaged one.
    """
    file = _write_beside(disk, path, body)
    disk.rename(path + TEMPORARY_SUFFIX, path)
    return file


def _write_beside(disk: Disk, path: str, body: bytes) -> File:
    file = disk.open(path + TEMPORARY_SUFFIX, create=True)
    file.truncate(0)
    file.pwritev([_TAG + b"%08x\n" % crc32c(body), body], 0)
    return file


def read_checked(disk: Disk, path: str) -> bytes | None:
    """The content; None if the file is missing or damaged."""
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return None
    data = file.pread(file.size(), 0)
    file.close()
    body = data[_PREFIX_BYTES:]
    if data[:_PREFIX_BYTES] != _TAG + b"%08x\n" % crc32c(body):
        return None
    return body


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]
