"""A node that is told to stop finishes what it has begun; one that is not alone does not start."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.harness.load import NumberedLoad, check_numbered
from tests.harness.node import Node
from tests.harness.wire import Wire, batch_of, fetch_fields, produce_fields, request_frame

PRODUCE_KEY, PRODUCE_VERSION = 0, 9
NOTIFY_SECONDS_MAX = 30.0
WAITS_MS = 60_000
STOP_SECONDS_MAX = 25.0
"""Far less than a client may wait."""


def test_a_stop_under_load_loses_nothing(node: Node) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("numbers", partitions=3) == 0
    with NumberedLoad(node.kafka, "numbers", 3) as load:
        for _ in range(3):
            load.wait_for_progress(records=500)
            node.stop()
            acknowledged = list(load.acknowledged)
            node.start()
            check_numbered(node.kafka, "numbers", acknowledged)
        load.finish()
        check_numbered(node.kafka, "numbers", load.acknowledged)


def test_requests_that_are_under_way_are_answered_before_the_node_ends(node: Node) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("last-words") == 0
        frames = [
            request_frame(
                PRODUCE_KEY,
                PRODUCE_VERSION,
                produce_fields("last-words", 0, bytes(batch_of([b"%d" % each]))),
                each,
            )
            for each in range(200)
        ]
        wire.socket.sendall(b"".join(frames))
        assert wire.read_frame() is not None
        node.stop()
        answers = 1
        while wire.read_frame() is not None:
            answers += 1
    node.start()
    with Wire(node.kafka) as wire:
        assert wire.fetch("last-words", 0, answers - 1)[1], "an acknowledged record is gone"


def test_a_clean_stop_leaves_nothing_to_recover(node: Node) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("quiet") == 0
        wire.produce_values("quiet", [b"x"] * 100)
    node.restart()
    assert "torn tail" not in node.log_text
    assert "quarantined" not in node.log_text
    with Wire(node.kafka) as wire:
        assert wire.produce_values("quiet", [b"y"]) == 100


def test_a_second_node_on_the_same_directory_is_refused(node: Node) -> None:
    command = [sys.executable, "-m", "duolog", "serve", "--data", str(node.data)]
    command += ["--kafka", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
    second = subprocess.run(command, capture_output=True, timeout=20, text=True, check=False)
    assert second.returncode == 1
    assert f"process {node.pid}" in second.stderr
    assert "Traceback" not in second.stderr
    with Wire(node.kafka) as wire:
        assert wire.create_topic("still-served") == 0


def test_a_ready_file_goes_with_the_node(node: Node) -> None:
    (ready,) = node.directory.glob("ready*")
    node.stop()
    assert not ready.exists()


def test_a_refused_start_removes_a_ready_file_that_a_killed_node_left(node: Node) -> None:
    ready = node.directory / "another-ready.json"
    ready.write_text("stale")
    command = [sys.executable, "-m", "duolog", "serve", "--data", str(node.data)]
    command += ["--kafka", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--ready-file", str(ready)]
    refused = subprocess.run(command, capture_output=True, timeout=20, check=False)
    assert refused.returncode == 1
    assert not ready.exists()


def test_a_ready_file_that_cannot_be_written_is_refused_before_anything_is_served(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "duolog", "serve", "--data", str(tmp_path / "data")]
    command += ["--kafka", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
    command += ["--ready-file", str(tmp_path / "absent" / "ready")]
    refused = subprocess.run(command, capture_output=True, timeout=20, text=True, check=False)
    assert refused.returncode == 1
    assert "--ready-file" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "data").exists()


def test_a_stop_does_not_wait_long_for_clients_that_wait(node: Node) -> None:
    with Wire(node.kafka) as idle, Wire(node.kafka) as waiting:
        assert idle.create_topic("empty") == 0
        waiting.socket.sendall(
            request_frame(1, 12, fetch_fields("empty", 0, 0, wait_ms_max=WAITS_MS))
        )
        time.sleep(0.1)
        started = time.monotonic()
        node.stop()
        assert time.monotonic() - started < STOP_SECONDS_MAX
    assert not os.path.exists(f"/proc/{node.pid}/fd")


def test_systemd_hears_when_a_node_serves_and_when_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"{tmp_path}/notify")
        systemd.settimeout(NOTIFY_SECONDS_MAX)
        monkeypatch.setenv("NOTIFY_SOCKET", f"{tmp_path}/notify")
        with Node(tmp_path / "node"):
            assert systemd.recv(100) == b"READY=1"
        assert systemd.recv(100) == b"STOPPING=1"
