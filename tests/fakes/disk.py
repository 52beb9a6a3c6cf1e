"""A disk in memory that forgets, fails and rots on demand.

It tells apart what a process sees and what is on stable storage. Writes become stable when
their file is synced, names when their directory is. `crash` drops the rest, or keeps some of
it at random, as a real one does. Sync and offload run at once, on the caller's stack.
"""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeVar

from duolog.ports.disk import File, Syncable, SyncDone, WriteBuffer

T = TypeVar("T")

Operation = Literal["open", "write", "truncate", "rename", "remove", "sync"]


class PowerCut(BaseException):
    """The machine stops here. Not an Exception, so that no code under test can survive it."""


@dataclass(slots=True)
class _Fault:
    operation: Operation
    error: int
    path_part: str
    skip: int
    times: int


@dataclass(frozen=True, slots=True)
class _Write:
    position: int
    data: bytes

    def apply(self, content: bytearray) -> None:
        if len(content) < self.position:
            content.extend(bytes(self.position - len(content)))
        content[self.position : self.position + len(self.data)] = self.data


@dataclass(frozen=True, slots=True)
class _Truncate:
    size: int

    def apply(self, content: bytearray) -> None:
        del content[self.size :]
        content.extend(bytes(self.size - len(content)))


class _Inode:
    def __init__(self) -> None:
        self.content = bytearray()
        self.stable = bytearray()
        self.pending: list[_Write | _Truncate] = []
        self.preallocated_bytes = 0
        """Size of a file that only holds room and is never written, so that it costs no memory."""

    @property
    def room_bytes(self) -> int:
        return max(len(self.content), self.preallocated_bytes)

    def change(self, change: _Write | _Truncate) -> None:
        change.apply(self.content)
        self.pending.append(change)

    def sync(self) -> None:
        for change in self.pending:
            change.apply(self.stable)
        self.pending.clear()

    def crash(self, random: Random | None) -> None:
        for change in self.pending:
            fate = random.choice(("lost", "kept", "torn")) if random else "lost"
            if fate == "torn" and random and isinstance(change, _Write):
                kept = random.randrange(len(change.data) + 1)
                _Write(change.position, change.data[:kept]).apply(self.stable)
            elif fate == "kept":
                change.apply(self.stable)
        self.pending.clear()
        self.content = bytearray(self.stable)


class _Names:
    """Directories and what is in them."""

    def __init__(self) -> None:
        self.directories = {""}
        self.inodes: dict[str, _Inode] = {}

    def move(self, source: str, target: str) -> None:
        if source in self.inodes:
            self.inodes[target] = self.inodes.pop(source)
        elif source in self.directories:
            for path in [each for each in self.inodes if each.startswith(source + "/")]:
                self.inodes[target + path[len(source) :]] = self.inodes.pop(path)
            self.directories.discard(source)
            self.directories.add(target)

    def drop_orphans(self) -> None:
        for path in [each for each in self.inodes if _parent(each) not in self.directories]:
            del self.inodes[path]


_NameChange = Callable[[_Names], None]


class FakeDisk:
    def __init__(self) -> None:
        self._names = _Names()
        self._stable_names = _Names()
        self._pending_names: dict[str, list[_NameChange]] = {}
        self._faults: list[_Fault] = []
        self._operations_left: int | None = None
        self.life = 0
        """Crashes so far: a file that was opened in an earlier life is of no use any more."""
        self.capacity_bytes: int | None = None
        self.synced_paths: list[str] = []

    # What a test does to the disk.

    def crash(self, random: Random | None = None) -> None:
        """Forget what is not stable; with a Random, keep some of it: whole, torn or not at all.

        Changes of names survive in the order in which they were made, as with a journal.
        """
        self._operations_left = None
        self._faults.clear()
        for changes in self._pending_names.values():
            kept = random.randrange(len(changes) + 1) if random else 0
            for change in changes[:kept]:
                change(self._stable_names)
        self._pending_names.clear()
        self._stable_names.drop_orphans()
        for inode in self._stable_names.inodes.values():
            inode.crash(random)
        self._names.directories = set(self._stable_names.directories)
        self._names.inodes = dict(self._stable_names.inodes)
        self.life += 1

    def fail(
        self,
        operation: Operation,
        error: int = errno.EIO,
        *,
        path_part: str = "",
        skip: int = 0,
        times: int = 1,
    ) -> None:
        """Let the operation fail, on matching paths, after it has worked `skip` times."""
        self._faults.append(_Fault(operation, error, path_part, skip, times))

    def clear_faults(self) -> None:
        self._faults.clear()

    def cut_power_after(self, operations: int | None) -> None:
        """Raise PowerCut instead of the change that follows so many others; None: not at all."""
        self._operations_left = operations

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        inode = self._names.inodes[path]
        for content in (inode.content, inode.stable):
            if position < len(content):
                content[position] ^= 1 << bit

    def content(self, path: str) -> bytes:
        return bytes(self._names.inodes[path].content)

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace the content of a file, durably, or make it."""
        inode = self._names.inodes.setdefault(path, _Inode())
        self._stable_names.inodes[path] = inode
        inode.pending.clear()
        inode.content, inode.stable = bytearray(data), bytearray(data)

    # What the code under test sees: the Disk port.

    def open(self, path: str, *, create: bool = False) -> File:
        self.meet("open", path)
        inode = self._names.inodes.get(path)
        if inode is None:
            if not create or _parent(path) not in self._names.directories:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            self.count()
            made = inode = _Inode()
            self._rename_in(_parent(path), lambda names: names.inodes.update({path: made}))
        return FakeFile(self, inode, path)

    def directory(self, path: str) -> Syncable:
        return _FakeDirectory(self, path)

    def list_names(self, path: str) -> list[str]:
        prefix = f"{path}/" if path else ""
        known = (*self._names.inodes, *self._names.directories)
        below = [each[len(prefix) :] for each in known if each.startswith(prefix) and each != path]
        return sorted({each for each in below if "/" not in each})

    def exists(self, path: str) -> bool:
        return path in self._names.inodes or path in self._names.directories

    def make_directory(self, path: str) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            made = "/".join(parts[:depth])
            if made not in self._names.directories:
                self.count()
                self._rename_in(_parent(made), _adding_directory(made))

    def rename(self, source: str, target: str) -> None:
        self.meet("rename", source)
        if not self.exists(source):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        self.count()
        self._rename_in(_parent(source), lambda names: names.move(source, target))

    def remove(self, path: str) -> None:
        self.meet("remove", path)
        if path in self._names.inodes:
            self.count()
            self._rename_in(_parent(path), lambda names: names.inodes.pop(path, None))

    def remove_tree(self, path: str) -> None:
        for each in [name for name in self._names.inodes if name.startswith(path + "/")]:
            self.remove(each)
        self._rename_in(_parent(path), lambda names: names.directories.discard(path))

    def free_bytes(self) -> int:
        if self.capacity_bytes is None:
            return 1 << 40
        used = sum(inode.room_bytes for inode in self._names.inodes.values())
        return max(0, self.capacity_bytes - used)

    def preallocate(self, path: str, size: int) -> None:
        self.remove(path)
        if size > self.free_bytes():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        self.open(path, create=True)
        self._names.inodes[path].preallocated_bytes = size

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        try:
            for target in targets:
                target.sync()
        except OSError as failure:
            done(failure)
        else:
            done(None)

    async def offload(self, work: Callable[[], T], *, lengthy: bool = False) -> T:
        return work()

    def close(self) -> None:
        return

    # What files and directories of this disk need.

    def count(self) -> None:
        if self._operations_left is not None:
            if self._operations_left == 0:
                raise PowerCut
            self._operations_left -= 1

    def meet(self, operation: Operation, path: str) -> None:
        """Raise the fault that waits for this operation, if any."""
        for fault in self._faults:
            if fault.operation == operation and fault.path_part in path:
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if fault.times == 0:
                    self._faults.remove(fault)
                raise OSError(fault.error, os.strerror(fault.error), path)

    def sync_names(self, directory: str) -> None:
        for change in self._pending_names.pop(directory, ()):
            change(self._stable_names)

    def _rename_in(self, directory: str, change: Callable[[_Names], object]) -> None:
        def apply(names: _Names) -> None:
            change(names)

        apply(self._names)
        self._pending_names.setdefault(directory, []).append(apply)


class FakeFile:
    def __init__(self, disk: FakeDisk, inode: _Inode, path: str) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path
        self._life = disk.life

    @property
    def path(self) -> str:
        return self._path

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a file in memory has no descriptor")

    def size(self) -> int:
        return self._inode.room_bytes

    def pread(self, length: int, position: int) -> bytes:
        assert self._life == self._disk.life, "the file was opened before the crash"
        return bytes(self._inode.content[position : position + length])

    def pwrite(self, buffer: WriteBuffer, position: int) -> None:
        self.pwritev((buffer,), position)

    def pwritev(self, buffers: Sequence[WriteBuffer], position: int) -> None:
        assert self._life == self._disk.life, "the file was opened before the crash"
        data = b"".join(buffers)
        self._disk.count()
        try:
            self._disk.meet("write", self._path)
        except OSError:
            self._inode.change(_Write(position, data[: len(data) // 2]))
            raise
        growth = position + len(data) - len(self._inode.content)
        free = self._disk.free_bytes()
        if growth > free:
            self._inode.change(_Write(position, data[: max(0, len(data) - growth + free)]))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
        self._inode.change(_Write(position, data))

    def truncate(self, size: int) -> None:
        self._disk.meet("truncate", self._path)
        if size != len(self._inode.content):
            self._disk.count()
            self._inode.change(_Truncate(size))

    def forget_cached(self, position: int) -> None:
        """Clean pages come from the device again; dirty ones cannot be dropped."""
        if not self._inode.pending:
            self._inode.content[position:] = self._inode.stable[position:]

    def sync(self) -> None:
        self._disk.count()
        try:
            self._disk.meet("sync", self._path)
        except OSError:
            # As Linux does: the pages are clean from now on, and were never written.
            self._inode.pending.clear()
            raise
        self._disk.synced_paths.append(self._path)
        self._inode.sync()

    def close(self) -> None:
        return


class _FakeDirectory:
    def __init__(self, disk: FakeDisk, path: str) -> None:
        self._disk = disk
        self._path = path

    def sync(self) -> None:
        self._disk.count()
        self._disk.meet("sync", self._path)
        self._disk.sync_names(self._path)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _adding_directory(path: str) -> _NameChange:
    return lambda names: names.directories.add(path)
