"""Files, as the log sees them.

Calls on a File are short and happen where the caller is. The two that can take long,
`Disk.sync` and `Disk.offload`, finish later, so that the event loop never blocks on them
and the simulator can give them a duration without a thread.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")

WriteBuffer = bytes | bytearray | memoryview
SyncDone = Callable[[OSError | None], None]


class Syncable(Protocol):
    """Something whose changes can be forced to stable storage: a file or a directory."""

    def sync(self) -> None:
        """Block until everything written before this call is durable. Raises OSError."""
        ...


class File(Syncable, Protocol):
    @property
    def path(self) -> str: ...

    def fileno(self) -> int:
        """The descriptor, for sendfile. A file without one raises OSError."""
        ...

    def size(self) -> int: ...

    def pread(self, length: int, position: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        ...

    def pwrite(self, buffer: WriteBuffer, position: int) -> None:
        """As `pwritev`, for one buffer."""
        ...

    def pwritev(self, buffers: Sequence[WriteBuffer], position: int) -> None:
        """Write all of the buffers, one after the other, or raise OSError.

        After an error any prefix may have been written.
        """
        ...

    def truncate(self, size: int) -> None: ...

    def forget_cached(self, position: int) -> None:
        """Drop clean cached pages from `position` on, so that reads come from the device."""
        ...

    def close(self) -> None:
        """Give up the descriptor once nobody is using it. May be called twice."""
        ...


class Disk(Protocol):
    """Paths are relative to the disk's root and use '/'."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and writing. `create` makes a missing file; else FileNotFoundError."""
        ...

    def directory(self, path: str) -> Syncable:
        """The directory as something to sync: makes its entries durable."""
        ...

    def list_names(self, path: str) -> list[str]:
        """Names of the entries, sorted; an absent directory, or a file, has none."""
        ...

    def exists(self, path: str) -> bool: ...

    def make_directory(self, path: str) -> None:
        """With its parents; present ones are fine."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces a present target."""
        ...

    def remove(self, path: str) -> None:
        """A missing file is fine."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def free_bytes(self) -> int: ...

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        """Sync all targets, in any order, off the event loop, then call `done` on it, with a
        failure if there was one.

        Calls are served in order. A callback and not a coroutine: this is on the path of every
        acknowledgement, where a task switch would cost more than the rest of it.
        """
        ...

    async def offload(self, work: Callable[[], T], *, lengthy: bool = False) -> T:
        """Run blocking work off the event loop.

        Work is done in the order of the calls. What takes seconds is `lengthy` and has an
        order of its own, so that nothing short has to wait for it.
        """
        ...
