"""Small files that are replaced as a whole and prove their own integrity."""

from crc32c import crc32c

from duolog.ports.disk import Disk

TEMPORARY_SUFFIX = ".tmp"
_TAG = b"duolog1 "
_PREFIX_BYTES = len(_TAG) + 8 + 1


def write_checked(disk: Disk, path: str, body: bytes) -> None:
    """Durable when it returns; a crash before that leaves the previous content."""
    temporary = path + TEMPORARY_SUFFIX
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.pwritev([_TAG + b"%08x\n" % crc32c(body), body], 0)
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.directory(parent_of(path)).sync()


def read_checked(disk: Disk, path: str) -> bytes | None:
    """The content, or None when the file is missing or damaged."""
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return None
    try:
        data = file.pread(file.size(), 0)
    finally:
        file.close()
    body = data[_PREFIX_BYTES:]
    if data[:_PREFIX_BYTES] != _TAG + b"%08x\n" % crc32c(body):
        return None
    return body


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]
