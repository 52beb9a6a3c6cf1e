"""A node whose log nobody reads, or can store, serves on and stops in order."""

import fcntl
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from tests.harness.node import Node
from tests.harness.wire import Wire

SECONDS_MAX = 60.0
PIPE_BYTES = 4096


class PipedNode(Node):
    """Logs to a small pipe; the test has the other end."""

    reading = -1

    def open_log(self) -> IO[bytes]:
        self.reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return os.fdopen(writing, "wb")


class NodeOnFullDisk(Node):
    def open_log(self) -> IO[bytes]:
        return open("/dev/full", "wb")


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[PipedNode]:
    node = PipedNode(tmp_path, {"log.level": "debug"})
    yield node
    node.kill()


def cause_a_line(node: Node) -> None:
    """Send something that is no request: the node says so in its log, and hangs up."""
    host, port = node.kafka.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=SECONDS_MAX) as connection:
        connection.sendall(b"\xff" * 8)
        assert connection.recv(1) == b""


def check_served(node: Node, topic: str) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic(topic) == 0
        assert wire.produce_values(topic, [b"x"]) == 0


def lose_lines(node: Node) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while node.metric("duolog_log_lines_lost_total") < 3:
        assert time.monotonic() < deadline, "too few lines of the log were lost"
        cause_a_line(node)


def end(node: Node) -> None:
    os.kill(node.pid, signal.SIGTERM)
    assert node.wait() == 0


def test_a_node_whose_log_reader_is_gone_serves_and_stops(piped: PipedNode) -> None:
    piped.start()
    os.close(piped.reading)
    lose_lines(piped)
    check_served(piped, "unread")
    end(piped)


def test_a_node_whose_log_is_on_a_full_disk_serves_and_stops(tmp_path: Path) -> None:
    node = NodeOnFullDisk(tmp_path).start()
    lose_lines(node)
    check_served(node, "unstored")
    end(node)


def test_a_node_whose_log_reader_does_not_read_serves_and_stops(piped: PipedNode) -> None:
    piped.start()
    # Far more than the pipe takes: whoever logged would stand still by now.
    for _ in range(PIPE_BYTES // 50):
        cause_a_line(piped)
    check_served(piped, "unread")
    end(piped)


def test_a_terminal_that_goes_ends_a_node_in_order(tmp_path: Path) -> None:
    # The tests themselves may have been told to ignore their terminal.
    with Node(tmp_path, wrapper=["env", "--default-signal=HUP"]) as node:
        os.kill(node.pid, signal.SIGHUP)
        assert node.wait() == 0
        assert "stopping" in node.log_text


def test_a_node_that_was_told_to_ignore_its_terminal_outlives_it(tmp_path: Path) -> None:
    with Node(tmp_path, wrapper=["nohup"]) as node:
        os.kill(node.pid, signal.SIGHUP)
        with Wire(node.kafka) as wire:
            assert wire.create_topic("still-served") == 0
