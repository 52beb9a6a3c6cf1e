"""Local files behind the Disk port.

One flusher thread per disk runs one group commit after another; if a commit covers many files,
helper threads sync them, too. Other blocking work has two threads of its own, one for short jobs
and one for compaction and scrubbing, so that it never delays an acknowledgement.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from duolog.ports.disk import File, Syncable, SyncDone, WriteBuffer

T = TypeVar("T")

IO_VECTORS_MAX = 1024
"""Kernel's limit of buffers in one pwritev."""


class LocalFile:
    """An open file.

    Its descriptor lives as long as somebody refers to this object, so that a reader that still
    sends a range of a deleted segment finishes undisturbed.
    """

    __slots__ = ("_fd", "_path")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path

    @property
    def path(self) -> str:
        return self._path

    def fileno(self) -> int:
        return self._fd

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def pread(self, length: int, position: int) -> bytes:
        data = os.pread(self._fd, length, position)
        if len(data) == length or not data:
            return data
        parts = [data]
        got = len(data)
        while got < length:
            data = os.pread(self._fd, length - got, position + got)
            if not data:
                break
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def pwrite(self, buffer: WriteBuffer, position: int) -> None:
        written = os.pwrite(self._fd, buffer, position)
        if written != len(buffer):
            self._write_rest((buffer,), position, written)

    def pwritev(self, buffers: Sequence[WriteBuffer], position: int) -> None:
        if len(buffers) <= IO_VECTORS_MAX:
            written = os.pwritev(self._fd, buffers, position)
            if written == sum(map(len, buffers)):
                return
        else:
            written = 0
        self._write_rest(buffers, position, written)

    def _write_rest(self, buffers: Sequence[WriteBuffer], position: int, written: int) -> None:
        """Finishes what one pwritev did not: a short write, or more buffers than it takes."""
        views = [memoryview(buffer) for buffer in buffers]
        skip = written
        position += written
        while views:
            while views and skip >= len(views[0]):
                skip -= len(views[0])
                views.pop(0)
            if not views:
                return
            views[0] = views[0][skip:]
            count = os.pwritev(self._fd, views[:IO_VECTORS_MAX], position)
            position += count
            skip = count

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def forget_cached(self, position: int) -> None:
        os.posix_fadvise(self._fd, position, 0, os.POSIX_FADV_DONTNEED)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def close(self) -> None:
        """Does nothing: the descriptor is closed with the last reference to this object."""

    def __del__(self) -> None:
        os.close(self._fd)


class LocalDirectory:
    """An open directory, which can be synced even after it was renamed out of the way."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def sync(self) -> None:
        os.fsync(self._fd)

    def __del__(self) -> None:
        os.close(self._fd)


SYNCERS_MAX = 8
"""Limit of files that are synced at a time. A file system commits concurrent syncs together: a
hundred files take a seventh of the time that they take one by one."""
TARGETS_EACH_MIN = 2
"""Fewest targets for which waking another thread pays."""

_Job = tuple[Sequence[Syncable], SyncDone, asyncio.AbstractEventLoop]


def _serve_syncs(jobs: "SimpleQueue[_Job | None]") -> None:
    """Body of the flusher thread."""
    with ThreadPoolExecutor(SYNCERS_MAX - 1, thread_name_prefix="syncer") as syncers:
        while _serve_sync(jobs.get(), syncers):
            pass


def _serve_sync(job: _Job | None, syncers: ThreadPoolExecutor) -> bool:
    """Serves one job; a function of its own, so that no file is held while the thread waits."""
    if job is None:
        return False
    targets, done, loop = job
    failure: OSError | None = None
    try:
        _sync_all(targets, syncers)
    except OSError as error:
        failure = error
    try:
        loop.call_soon_threadsafe(done, failure)
    except RuntimeError:
        # The loop is closed: nobody waits any more.
        return False
    return True


def _sync_all(targets: Sequence[Syncable], syncers: ThreadPoolExecutor) -> None:
    """Syncs all targets on several threads; raises one of the failures."""
    count = min(len(targets) // TARGETS_EACH_MIN, SYNCERS_MAX)
    if count < 2:
        _sync_each(targets)
        return
    begun = [syncers.submit(_sync_each, targets[first::count]) for first in range(1, count)]
    try:
        _sync_each(targets[::count])
    finally:
        wait(begun)
    for each in begun:
        each.result()


def _sync_each(targets: Sequence[Syncable]) -> None:
    """Syncs one by one and stops at a failure: the caller gives up the whole directory anyway."""
    for target in targets:
        target.sync()


class LocalDisk:
    """A directory of this machine, to which no other process writes."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._syncs: SimpleQueue[_Job | None] = SimpleQueue()
        self._flusher = Thread(
            target=_serve_syncs, args=(self._syncs,), name="flusher", daemon=True
        )
        self._flusher.start()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="disk-worker")
        self._lengthy_worker = ThreadPoolExecutor(1, thread_name_prefix="disk-lengthy")

    def _absolute(self, path: str) -> str:
        return os.path.join(self._root, path) if path else self._root

    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        absolute = self._absolute(path)
        return LocalFile(os.open(absolute, flags, 0o640), path)

    def directory(self, path: str) -> Syncable:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        return LocalDirectory(os.open(self._absolute(path), flags))

    def list_names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._absolute(path)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def exists(self, path: str) -> bool:
        return os.path.exists(self._absolute(path))

    def make_directory(self, path: str) -> None:
        os.makedirs(self._absolute(path), exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(self._absolute(source), self._absolute(target))

    def remove(self, path: str) -> None:
        try:
            os.unlink(self._absolute(path))
        except FileNotFoundError:
            return

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(self._absolute(path), ignore_errors=True)

    def free_bytes(self) -> int:
        status = os.statvfs(self._root)
        # Some of a file system may be left to root alone.
        blocks = status.f_bfree if os.geteuid() == 0 else status.f_bavail
        return blocks * status.f_frsize

    def preallocate(self, path: str, size: int) -> None:
        file = os.open(self._absolute(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            os.posix_fallocate(file, 0, size)
            os.ftruncate(file, size)
        except OSError:
            self.remove(path)
            raise
        finally:
            os.close(file)

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        self._syncs.put((targets, done, asyncio.get_running_loop()))

    async def offload(self, work: Callable[[], T], *, lengthy: bool = False) -> T:
        worker = self._lengthy_worker if lengthy else self._worker
        return await asyncio.get_running_loop().run_in_executor(worker, work)

    def close(self) -> None:
        self._syncs.put(None)
        self._flusher.join()
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._lengthy_worker.shutdown(wait=False, cancel_futures=True)
