"""Files of counters that are mapped into memory: what is added outlives a killed process."""

from typing import Protocol


class CounterFile(Protocol):
    @property
    def first(self) -> memoryview:
        """The first chunk."""
        ...

    def more(self) -> memoryview:
        """Another chunk, of zeroes. OSError when there is no room for it on the disk: memory
        that is mapped without it could not be written to, and that would end the process."""
        ...

    def sync(self) -> None:
        """Block until everything counted so far is durable. Raises OSError."""
        ...


class CounterFiles(Protocol):
    """Those of one directory, by name."""

    def create(self, name: str) -> CounterFile:
        """A new one, with its first chunk; one of that name is replaced. Raises OSError."""
        ...

    def names(self) -> list[str]:
        """Sorted."""
        ...

    def read(self, name: str) -> bytes: ...

    def rename(self, name: str, target: str) -> None: ...

    def remove(self, name: str) -> None:
        """A missing one is fine."""
        ...
