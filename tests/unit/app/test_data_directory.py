"""The lock and the marks of a data directory, also where there is no room to write them."""

import errno
import os
from pathlib import Path

import pytest

from duolog.app.data_directory import CLEAN_STOP_NAME, LOCK_NAME, DataDirectory


def refuse(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_keeps_nobody_from_the_lock_and_names_the_holder_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = DataDirectory(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)
        directory.lock()
    assert (tmp_path / LOCK_NAME).read_text() == ""
    directory.name_holder()
    assert int((tmp_path / LOCK_NAME).read_text()) == os.getpid()
    directory.unlock()


def test_a_shorter_id_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text("123456789012345\n")
    directory = DataDirectory(tmp_path)
    directory.lock()
    assert int((tmp_path / LOCK_NAME).read_text()) == os.getpid()
    directory.unlock()


def test_a_stop_without_room_for_its_mark_counts_as_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = DataDirectory(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        directory.note_clean_stop()
    assert not (tmp_path / CLEAN_STOP_NAME).exists()
    assert not directory.take_clean_stop()
    directory.note_clean_stop()
    assert directory.take_clean_stop()
