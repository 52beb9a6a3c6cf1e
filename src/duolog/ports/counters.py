"""Memory-mapped files of counters: their counts survive a killed process."""

from typing import Protocol


class CounterFile(Protocol):
    @property
    def first(self) -> memoryview:
        """The first chunk."""
        ...

    def more(self) -> memoryview:
        """Appends a chunk of zeroes; raises OSError if the disk has no room for it.

        The space is reserved beforehand: writing to mapped memory without it would end the process.
        """
        ...

    def sync(self) -> None:
        """Blocks until everything counted so far is durable. Raises OSError."""
        ...


class CounterFiles(Protocol):
    """Files of counters in one directory, by name."""

    def create(self, name: str) -> CounterFile:
        """Creates a file with its first chunk, replacing one of that name. Raises OSError."""
        ...

    def names(self) -> list[str]:
        """Names of all files, sorted."""
        ...

    def read(self, name: str) -> bytes: ...

    def rename(self, name: str, target: str) -> None: ...

    def remove(self, name: str) -> None:
        """Removes a file; a missing one is fine."""
        ...
