"""Local files: short writes, many buffers, syncs in order, descriptors that outlive deletion."""

import asyncio
import errno
import os
import threading
import time
from pathlib import Path

import pytest

from duolog.adapters.disk import IO_VECTORS_MAX, SYNCERS_MAX, LocalDisk
from duolog.ports.disk import is_no_room

SYNC_SECONDS_MAX = 30.0
"""The disk may be busy with others."""


@pytest.fixture
def disk(tmp_path: Path) -> LocalDisk:
    return LocalDisk(str(tmp_path))


def test_more_buffers_than_the_kernel_takes_are_written_whole(disk: LocalDisk) -> None:
    file = disk.open("a", create=True)
    buffers = [bytes([n % 251]) * (n % 5) for n in range(IO_VECTORS_MAX * 2 + 7)]
    file.pwritev(buffers, 3)
    assert file.pread(1 << 20, 3) == b"".join(buffers)


def test_a_short_write_is_finished(disk: LocalDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.open("a", create=True)
    real = os.pwritev

    def short(fd: int, buffers: list[memoryview], position: int) -> int:
        return real(fd, [memoryview(buffers[0])[:2]], position)

    monkeypatch.setattr(os, "pwritev", short)
    file.pwritev([b"hello", b" ", b"world"], 0)
    assert file.pread(100, 0) == b"hello world"
    real_alone = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real_alone(fd, data[:2], at))
    file.pwrite(b"again", 11)
    assert file.pread(100, 0) == b"hello worldagain"


def test_a_missing_file_is_not_made_by_accident(disk: LocalDisk) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open("nowhere")


def test_a_deleted_file_stays_readable_for_who_holds_it(disk: LocalDisk) -> None:
    file = disk.open("a", create=True)
    file.pwritev([b"still here"], 0)
    disk.remove("a")
    file.close()
    assert file.pread(100, 0) == b"still here"
    assert not disk.exists("a")


class Target:
    """Something that can be synced, and notes by which thread it was."""

    def __init__(self, failure: OSError | None = None) -> None:
        self.failure = failure
        self.threads: list[str] = []

    def sync(self) -> None:
        self.threads.append(threading.current_thread().name)
        time.sleep(0.001)
        if self.failure is not None:
            raise self.failure


async def sync_of(disk: LocalDisk, targets: list[Target]) -> OSError | None:
    done: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
    disk.sync(targets, done.set_result)
    return await asyncio.wait_for(done, SYNC_SECONDS_MAX)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 100])
async def test_every_target_is_synced_once_however_many_there_are(
    disk: LocalDisk, count: int
) -> None:
    targets = [Target() for _ in range(count)]
    assert await sync_of(disk, targets) is None
    assert [len(each.threads) for each in targets] == [1] * count
    disk.close()


async def test_many_files_are_synced_side_by_side(disk: LocalDisk) -> None:
    targets = [Target() for _ in range(100)]
    await sync_of(disk, targets)
    assert 1 < len({name for each in targets for name in each.threads}) <= SYNCERS_MAX
    disk.close()


@pytest.mark.parametrize("broken", [0, 1, 41, 99])
async def test_a_failure_among_many_is_reported_when_all_threads_are_through(
    disk: LocalDisk, broken: int
) -> None:
    targets = [Target() for _ in range(100)]
    targets[broken].failure = OSError(5, "broken")
    assert await sync_of(disk, targets) is targets[broken].failure
    counts = [len(each.threads) for each in targets]
    await asyncio.sleep(0.01)
    assert [len(each.threads) for each in targets] == counts
    assert await sync_of(disk, [Target()]) is None
    disk.close()


async def test_syncs_finish_in_order_and_report_the_failure(disk: LocalDisk) -> None:
    class Broken:
        def sync(self) -> None:
            raise OSError(5, "broken")

    results: list[OSError | None] = []
    done = asyncio.Event()
    file = disk.open("a", create=True)
    disk.sync([file], results.append)
    disk.sync([Broken()], results.append)
    disk.sync([disk.directory("")], lambda failure: (results.append(failure), done.set())[0])
    await asyncio.wait_for(done.wait(), SYNC_SECONDS_MAX)
    assert results[0] is None
    assert results[1] is not None
    assert results[1].errno == 5
    assert results[2] is None
    disk.close()


def test_preallocated_room_is_taken_and_comes_back_with_the_file(disk: LocalDisk) -> None:
    for size in (1 << 20, 1 << 16):
        disk.preallocate("reserve", size)
        file = disk.open("reserve")
        assert file.size() == size
        assert os.fstat(file.fileno()).st_blocks * 512 >= size
    disk.remove("reserve")
    assert not disk.exists("reserve")


def test_without_room_nothing_is_preallocated(
    disk: LocalDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fallocate(fd: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    with pytest.raises(OSError) as failure:
        disk.preallocate("reserve", 1 << 20)
    assert is_no_room(failure.value)
    assert not disk.exists("reserve")
