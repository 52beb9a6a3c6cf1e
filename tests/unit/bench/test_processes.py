import sys
import time
from pathlib import Path

import pytest
from bench import processes

CHILD_SECONDS_MAX = 30.0
READY = 'import pathlib,sys; pathlib.Path(sys.argv[1]).write_text(\'{"kafka": "127.0.0.1:9"}\');'


def start(tmp_path: Path, code: str) -> processes.Server:
    ready = tmp_path / "ready"
    argv = [sys.executable, "-c", code, str(ready)]
    return processes.start("it", argv, ready_file=ready, log_path=tmp_path / "log")


def test_a_server_is_accounted_for_and_stopped(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass\n"
    with start(tmp_path, f"{burn}\n{READY} time.sleep(60)") as server:
        assert 0.2 <= server.cpu_seconds() < 5
        assert server.host_and_port == ("127.0.0.1", 9)
        assert 0 < server.rss_mb() <= server.peak_rss_mb()
        assert 0 < server.session_resident_mb() <= server.session_rss_mb()
    assert server.process.returncode is not None


def test_children_that_have_ended_still_count(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {burn!r}]);"
    with start(tmp_path, f"{code} {READY} time.sleep(60)") as server:
        assert 0.3 <= server.cpu_seconds() < 5


def test_memory_that_processes_share_counts_once_and_a_child_by_and_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_AGE_SECONDS_MIN", 3_600)
    held = "import os, time; shared = b'x' * 100_000_000; child = os.fork();"
    own = "own = b'y' * 50_000_000 if child == 0 else b'';"
    with start(tmp_path, f"{held} {own} {READY} time.sleep(60)") as server:
        assert server.session_resident_mb() < 130
        monkeypatch.setattr(processes, "_AGE_SECONDS_MIN", 0.5)
        deadline = time.monotonic() + CHILD_SECONDS_MAX
        while server.session_resident_mb() < 150 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert 150 <= server.session_resident_mb() < 180
        assert server.session_rss_mb() >= 250


def test_a_server_that_dies_at_start_is_reported_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(processes.ServerFailed, match="no disk"):
        start(tmp_path, "import sys; sys.exit('no disk')")
