"""The Disk port on an in-memory device, for one life of one process.

Syncs and offloaded work take virtual time, in their order. Once the process is dead, nothing that
is left of it can change the device any more.
"""

import errno
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from duolog.ports.disk import File, Syncable, SyncDone, WriteBuffer
from duolog.sim.device import Device, failure
from duolog.sim.inodes import Inode
from duolog.sim.loop import ProcessLoop
from duolog.sim.prices import FILE, READ, WRITE
from duolog.sim.world import PowerCut

T = TypeVar("T")


class SimDisk:
    def __init__(
        self, device: Device, loop: ProcessLoop, on_power_cut: Callable[[], None] = lambda: None
    ) -> None:
        self.device = device
        self._loop = loop
        self.cpu = loop.cpu
        self._on_power_cut = on_power_cut
        self._syncs: deque[tuple[Sequence[Syncable], list[int], SyncDone]] = deque()
        self._free_ns = [0, 0]
        """Times at which the ordinary worker, and the one for lengthy work, become idle."""

    def touch(self) -> Device:
        """Return the device in order to change it; raises PowerCut if the power goes first."""
        if self._loop.is_dead:
            raise PowerCut
        device = self.device
        if device.operations_left is not None:
            device.operations_left -= 1
            if device.operations_left < 0:
                self._on_power_cut()
                raise PowerCut
        return device

    def open(self, path: str, *, create: bool = False) -> File:
        if self._loop.is_dead:
            raise PowerCut
        self.cpu.pay(FILE)
        inode = self.device.names.find(path)
        if inode is None:
            parent = path.rpartition("/")[0]
            if not create or parent not in self.device.names.directories:
                raise FileNotFoundError(errno.ENOENT, "there is no such file", path)
            made = inode = Inode()
            self.touch().change_names(parent, lambda names: names.link(path, made))
        return SimFile(self, inode, path)

    def directory(self, path: str) -> Syncable:
        return SimDirectory(self, path)

    def list_names(self, path: str) -> list[str]:
        self.cpu.pay(FILE)
        return sorted(self.device.names.directories.get(path, ()))

    def exists(self, path: str) -> bool:
        return self.device.names.exists(path)

    def make_directory(self, path: str) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            made = "/".join(parts[:depth])
            if made not in self.device.names.directories:
                self._change(made, _making(made))

    def rename(self, source: str, target: str) -> None:
        if not self.exists(source):
            raise FileNotFoundError(errno.ENOENT, "there is no such file", source)
        self._change(source, lambda names: names.rename(source, target))

    def remove(self, path: str) -> None:
        if self.device.names.find(path) is not None:
            self._forget_size(path)
            self._change(path, lambda names: names.unlink(path))

    def remove_tree(self, path: str) -> None:
        for name in self.list_names(path):
            self.remove(f"{path}/{name}")
        if path in self.device.names.directories:
            self._change(path, lambda names: names.unlink(path))

    def free_bytes(self) -> int:
        return max(0, self.device.capacity_bytes - self.device.used_bytes)

    def preallocate(self, path: str, size: int) -> None:
        self.remove(path)
        if size > self.free_bytes():
            raise failure(errno.ENOSPC, path)
        self.open(path, create=True)
        inode = self.device.names.find(path)
        assert inode is not None
        inode.preallocated_bytes = size
        self.device.used_bytes += size

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        marks = [
            target.inode.begin_sync() if isinstance(target, SimFile) else 0 for target in targets
        ]
        self._syncs.append((targets, marks, done))
        if len(self._syncs) == 1:
            self._start_sync()

    def _start_sync(self) -> None:
        self._loop.world.after(self.device.sync_ns(), self._synced, loop=self._loop)

    def _synced(self) -> None:
        targets, marks, done = self._syncs[0]
        error = None
        for target, mark in zip(targets, marks, strict=True):
            try:
                if isinstance(target, SimFile):
                    target.sync_to(mark)
                else:
                    target.sync()
            except OSError as failed:
                error = error or failed
        self._syncs.popleft()
        if self._syncs:
            self._start_sync()
        done(error)

    async def offload(self, work: Callable[[], T], *, lengthy: bool = False) -> T:
        loop = self._loop
        begins_ns = max(loop.world.now_ns, self._free_ns[lengthy])
        self._free_ns[lengthy] = ends_ns = begins_ns + self.device.offload_ns()
        done = loop.create_future()
        loop.world.after(ends_ns - loop.world.now_ns, self._work, work, done, lengthy, loop=loop)
        result: T = await done
        return result

    def _work(self, work: Callable[[], T], done: Any, lengthy: bool) -> None:
        with self.cpu.offloaded() as taken_ns:
            result, failure = _outcome(work)
        self._free_ns[lengthy] = max(self._free_ns[lengthy], self._loop.world.now_ns) + taken_ns()
        self._loop.world.after(taken_ns(), _settle, done, result, failure, loop=self._loop)

    def close(self) -> None:
        return

    def _change(self, path: str, change: Callable[[Any], object]) -> None:
        self.cpu.pay(FILE)
        self.touch().change_names(path.rpartition("/")[0], change)

    def _forget_size(self, path: str) -> None:
        inode = self.device.names.find(path)
        if inode is not None:
            self.device.used_bytes -= inode.room_bytes


class SimFile:
    __slots__ = ("_disk", "inode", "path")

    def __init__(self, disk: SimDisk, inode: Inode, path: str) -> None:
        self._disk = disk
        self.inode = inode
        self.path = path

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a file in memory has no descriptor")

    def size(self) -> int:
        return self.inode.room_bytes

    def pread(self, length: int, position: int) -> bytes:
        data = bytes(self.inode.content[position : position + length])
        self._disk.cpu.pay(READ, len(data))
        return data

    def pwrite(self, buffer: WriteBuffer, position: int) -> None:
        self.pwritev((buffer,), position)

    def pwritev(self, buffers: Sequence[WriteBuffer], position: int) -> None:
        data = b"".join(buffers)
        self._disk.cpu.pay(WRITE, len(data))
        self._disk.touch().write(self.inode, self.path, position, data)

    def truncate(self, size: int) -> None:
        change = size - len(self.inode.content)
        if change:
            self._disk.touch().used_bytes += change
            self.inode.truncate(size)

    def forget_cached(self, position: int) -> None:
        self.inode.forget_clean()

    def sync(self) -> None:
        self.sync_to(self.inode.begin_sync())

    def sync_to(self, mark: int) -> None:
        if self._disk.touch().fails_syncs:
            self.inode.fail_sync(mark)
            raise failure(errno.EIO, self.path)
        self.inode.finish_sync(mark)

    def close(self) -> None:
        return


class SimDirectory:
    __slots__ = ("_disk", "_path")

    def __init__(self, disk: SimDisk, path: str) -> None:
        self._disk = disk
        self._path = path

    def sync(self) -> None:
        device = self._disk.touch()
        if device.fails_syncs:
            raise failure(errno.EIO, self._path)
        device.sync_names(self._path)


def _making(path: str) -> Callable[[Any], object]:
    return lambda names: names.link(path, None)


def _outcome(work: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return work(), None
    except Exception as error:
        return None, error


def _settle(done: Any, result: Any, failure: Exception | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(result)
    else:
        done.set_exception(failure)
