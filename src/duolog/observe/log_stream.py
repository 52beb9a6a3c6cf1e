"""A stream for log lines that never raises and never blocks whoever logs.

A node must not depend on who reads its log: a pipe whose reader is gone, a disk without room, or
a terminal that was stopped costs lines, not decisions. Lines go through a bounded queue to a
thread; lines that find it full, or cannot be written, are counted.
"""

import os
import select
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TextIO

LINES_WAITING_MAX = 4_096
"""Lines that wait for the thread. More are lost: memory is worth more than a log."""
LINE_CHARACTERS_MAX = 16_384
"""A longer line is cut: a traceback must not make the queue's bound meaningless."""
WRITE_BYTES_MAX = 64 << 10
"""Lines are written together up to this size."""
CLOSE_S_MAX = 1.0
"""A stop waits this long for the last lines; a reader that does not read loses them."""
CUT = " (cut)\n"

OnRecovered = Callable[[int], None]


class LogStream:
    """Looks like a text stream to loggers: `write` takes one line, `flush` does nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        """Take over the stream's descriptor; None, as of a process without one, drops all lines."""
        self._descriptor = (
            os.open(os.devnull, os.O_WRONLY) if stream is None else os.dup(stream.fileno())
        )
        self._is_terminal = stream is not None and stream.isatty()
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._lost = 0
        self._reported = 0
        """Lost lines that `on_recovered` was told of."""
        self.on_recovered: OnRecovered | None = None
        """Told, by the thread, how many lines were lost, once a line could be written again."""
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """Lines lost since the start."""
        return self._lost

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, line: str) -> int:
        if self._waiting.qsize() >= LINES_WAITING_MAX:
            self._lose(1)
        elif len(line) > LINE_CHARACTERS_MAX:
            self._waiting.put(line[: LINE_CHARACTERS_MAX - len(CUT)] + CUT)
        else:
            self._waiting.put(line)
        return len(line)

    def flush(self) -> None:
        """Nothing: the thread writes as soon as it can."""

    def close(self) -> None:
        """Wait for the lines that wait, but not for a reader that does not read."""
        self._waiting.put(None)
        self._thread.join(CLOSE_S_MAX)

    def _lose(self, lines: int) -> None:
        with self._lock:
            self._lost += lines

    def _run(self) -> None:
        is_open = True
        while is_open:
            lines: list[str] = []
            is_open = self._take(lines)
            try:
                self._write_all("".join(lines).encode("utf-8", "backslashreplace"))
            except OSError:
                self._lose(len(lines))
            else:
                self._tell_recovered()

    def _take(self, lines: list[str]) -> bool:
        """Wait for a line and take what waits behind it; False once the stream was closed."""
        line = self._waiting.get()
        size = 0
        while line is not None:
            lines.append(line)
            size += len(line)
            if size >= WRITE_BYTES_MAX:
                return True
            try:
                line = self._waiting.get_nowait()
            except Empty:
                return True
        return False

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                # Whoever shares the terminal or pipe has made it non-blocking.
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll()

    def _tell_recovered(self) -> None:
        lost, told = self._lost, self._reported
        if lost > told and self.on_recovered is not None:
            self._reported = lost
            self.on_recovered(lost - told)
