"""Counter files in memory, which outlive whoever counts into them."""

import errno

from duolog.core.usage.slots import CHUNK_BYTES


class FakeCounterFile:
    def __init__(self, files: "FakeCounterFiles", name: str) -> None:
        self._files = files
        self.chunks: list[bytearray] = []
        self.is_synced = False
        self._first = self.more()
        files.held[name] = self

    @property
    def first(self) -> memoryview:
        return self._first

    def more(self) -> memoryview:
        if self._files.is_full:
            raise OSError(errno.ENOSPC, "no room")
        self.chunks.append(bytearray(CHUNK_BYTES))
        return memoryview(self.chunks[-1])

    def sync(self) -> None:
        self.is_synced = True


class FakeCounterFiles:
    def __init__(self) -> None:
        self.held: dict[str, FakeCounterFile] = {}
        self.is_full = False

    def create(self, name: str) -> FakeCounterFile:
        return FakeCounterFile(self, name)

    def names(self) -> list[str]:
        return sorted(self.held)

    def read(self, name: str) -> bytes:
        return b"".join(self.held[name].chunks)

    def rename(self, name: str, target: str) -> None:
        self.held[target] = self.held.pop(name)

    def remove(self, name: str) -> None:
        self.held.pop(name, None)
