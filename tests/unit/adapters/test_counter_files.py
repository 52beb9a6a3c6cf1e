"""Counters in mapped files are there whatever becomes of the process that added to them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from duolog.adapters.counter_files import LocalCounterFiles

CHUNK_BYTES = 64 * 1024

COUNTING = """
import os, signal, sys
from duolog.adapters.counter_files import LocalCounterFiles
file = LocalCounterFiles(sys.argv[1], ".counters", 65536).create("1.counters")
words = file.first.cast("q")
more = file.more().cast("q")
for _ in range(1000):
    words[3] += 1
    more[5] += 2
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def files(tmp_path: Path) -> LocalCounterFiles:
    return LocalCounterFiles(str(tmp_path / "usage"), ".counters", CHUNK_BYTES)


def test_what_a_killed_process_has_added_is_there(tmp_path: Path) -> None:
    process = subprocess.run([sys.executable, "-c", COUNTING, str(tmp_path)], check=False)
    assert process.returncode == -signal.SIGKILL
    files = LocalCounterFiles(str(tmp_path), ".counters", CHUNK_BYTES)
    data = memoryview(files.read("1.counters"))
    assert len(data) == 2 * CHUNK_BYTES
    assert data.cast("q")[3] == 1_000
    assert data[CHUNK_BYTES:].cast("q")[5] == 2_000


def test_a_new_file_has_room_on_the_disk_before_it_is_counted_into(
    files: LocalCounterFiles, tmp_path: Path
) -> None:
    file = files.create("1.counters")
    status = os.stat(tmp_path / "usage" / "1.counters")
    assert status.st_blocks * 512 >= CHUNK_BYTES
    assert bytes(file.first) == bytes(CHUNK_BYTES)


def test_a_file_of_the_same_name_is_replaced(files: LocalCounterFiles) -> None:
    old = files.create("1.counters")
    old.first[0] = 7
    assert files.create("1.counters").first[0] == 0
    assert files.read("1.counters")[0] == 0
    assert old.first[0] == 7


def test_only_counter_files_are_listed(files: LocalCounterFiles, tmp_path: Path) -> None:
    assert files.names() == []
    files.create("2.counters").sync()
    files.create("1.counters")
    (tmp_path / "usage" / "journal").write_bytes(b"")
    assert files.names() == ["1.counters", "2.counters"]
    files.rename("2.counters", "3.counters")
    files.remove("1.counters")
    files.remove("1.counters")
    assert files.names() == ["3.counters"]


def test_where_there_is_no_room_nothing_is_left_behind(
    files: LocalCounterFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "no room")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="no room"):
        files.create("1.counters")
    assert files.names() == []
