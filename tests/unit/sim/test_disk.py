"""What a disk of memory forgets, and what it does not."""

import asyncio
import errno
from random import Random

import pytest

from duolog.sim.device import Device
from duolog.sim.disk import SimDisk
from duolog.sim.seed import Seed
from duolog.sim.world import PowerCut, World


class Bench:
    def __init__(self, number: int) -> None:
        self.world = World(Seed(1))
        self.device = Device(Random(number))
        self.disk = SimDisk(self.device, self.world.ground)

    def run(self, main):
        return self.world.run(main)


@pytest.fixture(params=range(20))
def bench(request):
    return Bench(request.param)


def made(disk, path="d/a", data=b"kept"):
    disk.make_directory("d")
    file = disk.open(path, create=True)
    file.pwrite(data, 0)
    file.sync()
    disk.directory("d").sync()
    disk.directory("").sync()
    return file


def test_what_was_synced_survives_a_power_cut(bench):
    made(bench.disk)
    bench.device.crash()
    assert bench.disk.open("d/a").pread(10, 0) == b"kept"


def test_what_was_not_synced_is_lost_torn_or_kept(bench):
    made(bench.disk).pwrite(b" and more", 4)
    bench.device.crash()
    content = bench.disk.open("d/a").pread(100, 0)
    assert content.startswith(b"kept")
    for at, byte in enumerate(content):
        assert byte in (b"kept and more"[at], 0), "lost bytes are zeros or not there"


def test_unsynced_fates_differ():
    fates = set()
    for number in range(40):
        bench = Bench(number)
        made(bench.disk).pwrite(b" and more", 4)
        bench.device.crash()
        fates.add(bench.disk.open("d/a").size())
    assert {4, 13} < fates


def test_a_rename_is_whole_or_not_at_all(bench):
    made(bench.disk)
    made(bench.disk, "d/b", b"new")
    bench.disk.rename("d/b", "d/a")
    bench.device.crash()
    names = bench.disk.list_names("d")
    content = bench.disk.open("d/a").pread(10, 0)
    assert (names, content) in ((["a", "b"], b"kept"), (["a"], b"new"))


def test_a_directory_moves_with_what_is_in_it(bench):
    made(bench.disk)
    bench.disk.rename("d", "e")
    assert bench.disk.list_names("") == ["e"]
    assert bench.disk.open("e/a").pread(10, 0) == b"kept"
    bench.disk.remove_tree("e")
    assert not bench.disk.exists("e/a")


def test_a_sync_covers_what_was_written_before_it_began(bench):
    file = made(bench.disk)
    world, done = bench.world, []

    async def main():
        file.pwrite(b"1", 4)
        bench.disk.sync([file], done.append)
        file.pwrite(b"2", 5)
        assert done == []
        await asyncio.sleep(1)

    bench.run(main())
    assert done == [None]
    assert file.inode.stable == b"kept1"
    assert world.now_ns >= 1_000_000


def test_a_failed_sync_drops_what_it_was_to_make_durable(bench):
    file = made(bench.disk)
    done = []

    async def main():
        file.pwrite(b"1", 4)
        bench.device.fails_syncs = True
        bench.disk.sync([file], done.append)
        await asyncio.sleep(1)

    bench.run(main())
    assert done[0].errno == errno.EIO
    assert file.pread(10, 0) == b"kept1"
    bench.device.crash()
    assert bench.disk.open("d/a").pread(10, 0) == b"kept"


def test_a_full_disk_takes_a_part(bench):
    file = made(bench.disk)
    bench.device.fill(3)
    with pytest.raises(OSError) as raised:
        file.pwrite(b"12345", 4)
    assert raised.value.errno == errno.ENOSPC
    assert file.pread(10, 0) == b"kept123"
    assert bench.disk.free_bytes() == 0


def test_preallocated_room_belongs_to_nobody_else(bench):
    file = made(bench.disk)
    bench.device.fill(10)
    bench.disk.preallocate("reserve", 8)
    assert bench.disk.free_bytes() == 2
    assert bench.disk.open("reserve").size() == 8
    with pytest.raises(OSError):
        bench.disk.preallocate("another", 3)
    assert not bench.disk.exists("another")
    with pytest.raises(OSError):
        file.pwrite(b"12345", 4)
    bench.disk.remove("reserve")
    assert bench.disk.free_bytes() == 8
    file.pwrite(b"12345", 6)


def test_offloaded_work_takes_time_and_keeps_its_order(bench):
    seen = []

    async def main():
        async with asyncio.TaskGroup() as group:
            for n in range(3):
                group.create_task(bench.disk.offload(lambda n=n: seen.append(n)))
            await asyncio.sleep(0)
            assert seen == []
        with pytest.raises(ValueError):
            await bench.disk.offload(lambda: int("x"))

    bench.run(main())
    assert seen == [0, 1, 2]


def test_the_power_can_go_in_the_middle_of_something(bench):
    file = made(bench.disk)
    cut = []
    disk = SimDisk(bench.device, bench.world.ground, lambda: cut.append(True))
    file = disk.open("d/a")
    bench.device.operations_left = 1
    file.pwrite(b"1", 4)
    with pytest.raises(PowerCut):
        file.pwrite(b"2", 5)
    assert cut == [True]
    assert file.pread(10, 0) == b"kept1"
