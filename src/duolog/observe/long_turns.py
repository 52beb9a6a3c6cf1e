"""Watches for turns of the event loop that use too much CPU: they starve leases and clients.

A thread asks the loop to answer and counts the CPU time that the loop's thread uses until it does.
CPU time, not wall time, so that a busy host is not taken for a long turn. While the loop is idle
it is not asked.
"""

import asyncio
import sys
import threading
import time
from types import FrameType

from duolog.observe.logs import get_logger

LONG_TURN_NS = 50_000_000
LOOK_S = 0.02
"""Interval at which the thread looks: a long turn is seen while it lasts."""
WORTH_ASKING_NS = 5_000_000
"""CPU time of the loop's thread before it is asked again: an idle loop is left alone."""
REPORT_S = 1.0
"""Shortest time between two reports; turns in between are only counted."""
FRAMES_MAX = 12

log = get_logger("loop")


class LongTurns:
    """Counts and reports long turns. Start it on the running loop."""

    def __init__(self) -> None:
        self.count = 0
        """Long turns since the start."""
        self.longest_ns = 0
        """CPU time of the longest of them, to the interval of looks."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_asked = False
        """True from the asking until the loop answers."""

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._watch, args=(loop, threading.get_ident()), name="turns", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends the watch. Called before the loop is closed."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _answer(self) -> None:
        self._is_asked = False

    def _watch(self, loop: asyncio.AbstractEventLoop, watched: int) -> None:
        clock = time.pthread_getcpuclockid(watched)
        began_ns = time.clock_gettime_ns(clock)
        is_counted = False
        reported_s = -REPORT_S
        while not self._stopping.wait(LOOK_S):
            used_ns = time.clock_gettime_ns(clock) - began_ns
            if not self._is_asked:
                is_counted = False
                if used_ns < WORTH_ASKING_NS:
                    continue
                began_ns += used_ns
                self._is_asked = True
                loop.call_soon_threadsafe(self._answer)
            elif used_ns >= LONG_TURN_NS:
                self.longest_ns = max(self.longest_ns, used_ns)
                if is_counted:
                    continue
                is_counted = True
                self.count += 1
                now_s = time.monotonic()
                if now_s - reported_s >= REPORT_S:
                    reported_s = now_s
                    self._report(watched)

    def _report(self, watched: int) -> None:
        frame = sys._current_frames().get(watched)
        if frame is not None:
            log.warning("the event loop is held up by a long turn", stack=_stack_of(frame))


def _stack_of(frame: FrameType | None) -> list[str]:
    """The innermost frames, the innermost first."""
    found: list[str] = []
    while frame is not None and len(found) < FRAMES_MAX:
        code = frame.f_code
        place = "/".join(code.co_filename.rsplit("/", 3)[1:])
        found.append(f"{place}:{frame.f_lineno} {code.co_qualname}")
        frame = frame.f_back
    return found
