"""Files, as the log sees them.

Calls on a File are short and run in the caller. The two that can take long, `Disk.sync` and
`Disk.offload`, finish later, so that the event loop never blocks on them and the simulator can give
them a duration without a thread.
"""

from collections.abc import Callable, Sequence
from errno import EDQUOT, ENOSPC
from typing import Protocol, TypeVar

T = TypeVar("T")

WriteBuffer = bytes | bytearray | memoryview
SyncDone = Callable[[OSError | None], None]


def is_no_room(error: OSError) -> bool:
    """True if the file system, or a quota on it, is full."""
    return error.errno in (ENOSPC, EDQUOT)


class Syncable(Protocol):
    """File or directory whose changes can be forced to stable storage."""

    def sync(self) -> None:
        """Blocks until everything written before this call is durable. Raises OSError."""
        ...


class File(Syncable, Protocol):
    @property
    def path(self) -> str: ...

    def fileno(self) -> int:
        """The descriptor, for sendfile. A file without one raises OSError."""
        ...

    def size(self) -> int: ...

    def pread(self, length: int, position: int) -> bytes:
        """Reads up to `length` bytes; fewer only at the end of the file."""
        ...

    def pwrite(self, buffer: WriteBuffer, position: int) -> None:
        """Writes one buffer, as `pwritev` does for several."""
        ...

    def pwritev(self, buffers: Sequence[WriteBuffer], position: int) -> None:
        """Writes all buffers, one after another, or raises OSError.

        After an error any prefix may have been written.
        """
        ...

    def truncate(self, size: int) -> None: ...

    def forget_cached(self, position: int) -> None:
        """Drops clean cached pages from `position` on, so that reads come from the device."""
        ...

    def close(self) -> None:
        """Gives up the descriptor once nobody is using it. May be called twice."""
        ...


class Disk(Protocol):
    """Files under one root. Paths are relative to it and use '/'."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Opens for reading and writing. `create` makes a missing file; else FileNotFoundError."""
        ...

    def directory(self, path: str) -> Syncable:
        """The directory as something to sync, which makes its entries durable."""
        ...

    def list_names(self, path: str) -> list[str]:
        """Names of the entries, sorted; an absent directory, or a file, has none."""
        ...

    def exists(self, path: str) -> bool: ...

    def make_directory(self, path: str) -> None:
        """Makes a directory with its parents; existing ones are fine."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Renames atomically; replaces an existing target."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file; a missing one is fine."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def free_bytes(self) -> int:
        """Room that this process may use."""
        ...

    def preallocate(self, path: str, size: int) -> None:
        """Makes a file of that size, or of an existing one, whose room nobody else can take.

        Blocks. Raises OSError, and leaves no file, if there is not so much room.
        """
        ...

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        """Syncs all targets, in any order, off the event loop; then calls `done` on the loop, with
        the failure if there was one.

        Calls are served in order. A callback and not a coroutine: this is on the path of every
        acknowledgement, where a task switch would cost more than the rest of it.
        """
        ...

    async def offload(self, work: Callable[[], T], *, lengthy: bool = False) -> T:
        """Runs blocking work off the event loop.

        Work is done in the order of the calls. Work that takes seconds is `lengthy` and has an
        order of its own, so that nothing short has to wait for it.
        """
        ...
