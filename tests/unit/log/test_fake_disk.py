"""The fake disk itself: what it forgets, what it keeps, and how it fails."""

import errno
from random import Random

import pytest
from tests.fakes.disk import FakeDisk, PowerCut

from duolog.ports.disk import File


def stable_file(disk: FakeDisk, content: bytes = b"stable") -> File:
    file = disk.open("f", create=True)
    file.pwritev([content], 0)
    file.sync()
    disk.directory("").sync()
    return file


def test_a_crash_forgets_what_was_not_synced() -> None:
    disk = FakeDisk()
    stable_file(disk).pwritev([b" and", b" not"], 6)
    assert disk.content("f") == b"stable and not"
    disk.crash()
    assert disk.content("f") == b"stable"


def test_a_crash_forgets_names_whose_directory_was_not_synced() -> None:
    disk = FakeDisk()
    disk.open("f", create=True).sync()
    disk.crash()
    assert not disk.exists("f")


@pytest.mark.parametrize("change", ["rename", "remove"])
def test_a_crash_undoes_names_changed_since_the_last_sync(change: str) -> None:
    disk = FakeDisk()
    stable_file(disk)
    if change == "rename":
        disk.rename("f", "g")
    else:
        disk.remove("f")
    disk.crash()
    assert disk.list_names("") == ["f"]


def test_a_crash_forgets_a_directory_and_what_is_in_it() -> None:
    disk = FakeDisk()
    disk.make_directory("d")
    disk.open("d/f", create=True).sync()
    disk.directory("d").sync()
    disk.crash()
    assert not disk.exists("d")
    assert not disk.exists("d/f")


def test_a_random_crash_keeps_some_and_never_invents() -> None:
    seen = set()
    for seed in range(50):
        disk = FakeDisk()
        stable_file(disk, b"aaaa").pwritev([b"bbbb"], 4)
        disk.crash(Random(seed))
        content = disk.content("f")
        assert b"aaaabbbb".startswith(content)
        assert len(content) >= 4
        seen.add(content)
    assert len(seen) > 3


def test_a_file_of_before_the_crash_is_of_no_use() -> None:
    disk = FakeDisk()
    file = stable_file(disk)
    disk.crash()
    with pytest.raises(AssertionError):
        file.pread(1, 0)


def test_a_full_disk_takes_what_fits() -> None:
    disk = FakeDisk()
    file = stable_file(disk)
    disk.capacity_bytes = 10
    with pytest.raises(OSError) as failure:
        file.pwritev([b"12345678"], 6)
    assert failure.value.errno == errno.ENOSPC
    assert disk.content("f") == b"stable1234"
    assert disk.free_bytes() == 0


def test_faults_strike_once_after_those_that_are_skipped() -> None:
    disk = FakeDisk()
    file = stable_file(disk)
    disk.fail("write", errno.EIO, skip=1)
    file.pwritev([b"x"], 0)
    with pytest.raises(OSError):
        file.pwritev([b"y"], 0)
    file.pwritev([b"z"], 0)


def test_pages_of_a_failed_sync_look_written_until_they_are_forgotten() -> None:
    disk = FakeDisk()
    file = stable_file(disk)
    file.pwritev([b"!"], 6)
    disk.fail("sync")
    with pytest.raises(OSError):
        file.sync()
    file.sync()
    assert file.pread(9, 0) == b"stable!"
    file.forget_cached(0)
    assert file.pread(9, 0) == b"stable"


def test_the_power_can_be_cut_before_any_change() -> None:
    disk = FakeDisk()
    file = stable_file(disk)
    disk.cut_power_after(1)
    file.pwritev([b"x"], 0)
    with pytest.raises(PowerCut):
        file.pwritev([b"y"], 0)


def test_a_removed_file_can_be_read_by_who_holds_it() -> None:
    disk = FakeDisk()
    file = stable_file(disk)
    disk.remove("f")
    assert file.pread(6, 0) == b"stable"
    with pytest.raises(FileNotFoundError):
        disk.open("f")


def test_a_bit_flips_where_it_is_stable_too() -> None:
    disk = FakeDisk()
    stable_file(disk)
    disk.flip_bit("f", 0, 1)
    disk.crash()
    assert disk.content("f") == b"qtable"


def test_a_directory_moves_with_what_is_in_it() -> None:
    disk = FakeDisk()
    disk.make_directory("a")
    disk.open("a/f", create=True)
    disk.rename("a", "b")
    assert disk.list_names("b") == ["f"]
    disk.remove_tree("b")
    assert disk.list_names("") == []
