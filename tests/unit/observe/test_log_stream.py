"""A log whose reader is slow or gone costs lines, and nothing else."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from typing import TextIO

import pytest

from duolog.observe.log_stream import LINE_CHARACTERS_MAX, LINES_WAITING_MAX, LogStream

SECONDS_MAX = 20.0


class Pipe:
    """The two ends of a small pipe; the reading one can go."""

    def __init__(self) -> None:
        self.reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        self.stream: TextIO = os.fdopen(writing, "w")

    def hang_up(self) -> None:
        os.close(self.reading)

    def read_until(self, wanted: str) -> str:
        text = ""
        while wanted not in text:
            text += os.read(self.reading, 65536).decode()
        return text


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.stream.close()


def wait_until_lost(log: LogStream, lines: int) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while log.lost < lines:
        assert time.monotonic() < deadline, f"only {log.lost} lines were counted"
        time.sleep(0.005)


def test_lines_arrive_whole_and_in_order(pipe: Pipe) -> None:
    log = LogStream(pipe.stream)
    for number in range(1000):
        log.write(f"line {number}\n")
    assert pipe.read_until("line 999\n").splitlines() == [f"line {each}" for each in range(1000)]
    log.close()


def test_lines_for_a_reader_that_is_gone_are_counted(pipe: Pipe) -> None:
    pipe.hang_up()
    log = LogStream(pipe.stream)
    for _ in range(10):
        log.write("nobody reads this\n")
    wait_until_lost(log, 10)
    log.close()


def test_a_reader_that_stops_reading_blocks_nobody_who_logs(pipe: Pipe) -> None:
    log = LogStream(pipe.stream)
    began = time.thread_time()
    for _ in range(2 * LINES_WAITING_MAX):
        log.write("x" * 100 + "\n")
    assert time.thread_time() - began < 1.0
    assert log.lost > 0
    told: list[int] = []
    log.on_recovered = told.append
    log.write("the last line that fits\n")
    reader = threading.Thread(target=drain, args=(pipe.reading,), daemon=True)
    reader.start()
    deadline = time.monotonic() + SECONDS_MAX
    while not told and time.monotonic() < deadline:
        log.write("one more\n")
        time.sleep(0.01)
    assert told
    assert sum(told) <= log.lost
    log.close()


def drain(descriptor: int) -> None:
    while os.read(descriptor, 65536):
        pass


def test_a_full_disk_costs_lines_until_there_is_room() -> None:
    with open("/dev/full", "w") as full:
        log = LogStream(full)
        told: list[int] = []
        log.on_recovered = told.append
        log.write("no room\n")
        wait_until_lost(log, 1)
        assert told == []
        log.close()


def test_a_line_has_a_longest_length(pipe: Pipe) -> None:
    log = LogStream(pipe.stream)
    log.write("y" * (2 * LINE_CHARACTERS_MAX) + "\n")
    text = pipe.read_until("(cut)\n")
    assert len(text) == LINE_CHARACTERS_MAX
    log.close()


def test_a_close_does_not_wait_for_a_reader_that_does_not_read(pipe: Pipe) -> None:
    log = LogStream(pipe.stream)
    for _ in range(100):
        log.write("z" * 1000 + "\n")
    closing = threading.Thread(target=log.close)
    closing.start()
    closing.join(SECONDS_MAX)
    assert not closing.is_alive()


def test_a_process_without_standard_error_logs_to_nobody() -> None:
    log = LogStream(None)
    log.write("dropped\n")
    log.close()
    assert log.lost == 0
