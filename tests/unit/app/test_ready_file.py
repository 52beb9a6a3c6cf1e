"""Whoever waits for the ready file sees the addresses of a node that serves, or nothing."""

import json
from pathlib import Path

import pytest

from duolog.app.data_directory import StartRefused
from duolog.app.ready_file import ready_file

ADDRESSES = {"kafka": "127.0.0.1:1"}


def test_it_is_there_while_the_node_serves(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    with ready_file(path) as announce:
        assert not path.exists()
        announce(ADDRESSES)
        assert json.loads(path.read_text()) == ADDRESSES
        assert list(tmp_path.iterdir()) == [path]
    assert list(tmp_path.iterdir()) == []


def test_one_that_a_killed_node_left_is_removed_first(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    path.write_text("stale")
    with ready_file(path):
        assert not path.exists()


def test_a_refused_start_leaves_none(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    path.write_text("stale")
    with pytest.raises(StartRefused, match="in use"), ready_file(path):
        raise StartRefused("The directory is in use.")
    assert list(tmp_path.iterdir()) == []


def test_one_that_could_not_be_written_is_refused_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match=r"cannot be written: No such file.*--ready-file"):
        ready_file(tmp_path / "absent" / "ready").__enter__()


def test_what_is_not_a_file_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="not a regular file"):
        ready_file(Path("/dev/null")).__enter__()
    with pytest.raises(StartRefused, match="not a regular file"):
        ready_file(tmp_path).__enter__()


def test_a_directory_that_vanishes_meanwhile_is_told_without_a_traceback(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with ready_file(folder / "ready") as announce:
        next(folder.iterdir()).unlink()
        folder.rmdir()
        with pytest.raises(StartRefused, match="cannot be written"):
            announce(ADDRESSES)


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ready_file(None) as announce:
        announce(ADDRESSES)
    assert list(tmp_path.iterdir()) == []
