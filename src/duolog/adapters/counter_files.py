"""Memory-mapped counters in local files: the kernel keeps what was added, however the process
ends."""

import mmap
import os
from contextlib import suppress

from duolog.ports.counters import CounterFile


class MappedFile:
    def __init__(self, fd: int, chunk_bytes: int) -> None:
        self._fd = fd
        self._chunk_bytes = chunk_bytes
        self._end = 0
        self._first = self.more()

    @property
    def first(self) -> memoryview:
        return self._first

    def more(self) -> memoryview:
        # Reserve disk space first: touching a page of a hole that cannot be filled raises SIGBUS.
        os.posix_fallocate(self._fd, self._end, self._chunk_bytes)
        mapped = mmap.mmap(self._fd, self._chunk_bytes, mmap.MAP_SHARED, offset=self._end)
        self._end += self._chunk_bytes
        return memoryview(mapped)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def __del__(self) -> None:
        os.close(self._fd)


class LocalCounterFiles:
    def __init__(self, directory: str, suffix: str, chunk_bytes: int) -> None:
        """Only names that end in `suffix` count; the directory may hold other files."""
        self._directory = directory
        self._suffix = suffix
        self._chunk_bytes = chunk_bytes

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def create(self, name: str) -> CounterFile:
        os.makedirs(self._directory, exist_ok=True)
        self.remove(name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        file = os.open(self._path(name), flags, 0o640)
        try:
            return MappedFile(file, self._chunk_bytes)
        except OSError:
            self.remove(name)
            raise

    def names(self) -> list[str]:
        try:
            return sorted(
                name for name in os.listdir(self._directory) if name.endswith(self._suffix)
            )
        except FileNotFoundError:
            return []

    def read(self, name: str) -> bytes:
        with open(self._path(name), "rb") as file:
            return file.read()

    def rename(self, name: str, target: str) -> None:
        os.replace(self._path(name), self._path(target))

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path(name))
