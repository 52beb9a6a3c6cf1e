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
LAST_NS = 1_000_000_000
"""CPU time from which a turn is reported while it lasts."""
STACK_NS = LONG_TURN_NS // 2
"""CPU time of a turn from which its stack is noted: it may end before the next look."""
REPORT_S = 1.0
"""Shortest time between two reports; of the turns in between, the longest is reported."""
FRAMES_MAX = 12

log = get_logger("loop")


class LongTurns:
    """Counts and reports long turns. Start it on the running loop."""

    def __init__(self) -> None:
        self.count = 0
        """Long turns since the start."""
        self.longest_ns = 0
        """CPU time of the longest of them."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_asked = False
        """True from the asking until the loop answers."""
        self._answered_ns = 0
        """CPU time of the loop's thread at its last answer."""
        self._unreported: tuple[int, list[str]] | None = None
        """CPU time and stack of the longest turn since the last report; None without any."""
        self._reported_s = -REPORT_S

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
        self._answered_ns = time.thread_time_ns()
        self._is_asked = False

    def _watch(self, loop: asyncio.AbstractEventLoop, watched: int) -> None:
        clock = time.pthread_getcpuclockid(watched)
        began_ns = self._answered_ns = time.clock_gettime_ns(clock)
        has_asked = False
        stack: list[str] = []
        while not self._stopping.wait(LOOK_S):
            now_ns = time.clock_gettime_ns(clock)
            if self._is_asked:
                used_ns = now_ns - began_ns
                if used_ns >= STACK_NS:
                    seen = _stack_of(sys._current_frames().get(watched))
                    # Unless the turn has ended meanwhile, so that this is another one's.
                    stack = seen if self._is_asked else stack
                if used_ns >= LAST_NS:
                    # It may never end, so that nothing would be said.
                    self._note(used_ns, stack)
            else:
                if has_asked and self._answered_ns - began_ns >= LONG_TURN_NS:
                    self.count += 1
                    self._note(self._answered_ns - began_ns, stack)
                has_asked = False
                if now_ns - self._answered_ns >= WORTH_ASKING_NS:
                    began_ns, stack = now_ns, []
                    self._is_asked = has_asked = True
                    loop.call_soon_threadsafe(self._answer)
            if time.monotonic() - self._reported_s >= REPORT_S:
                self._report()
        self._report()

    def _note(self, used_ns: int, stack: list[str]) -> None:
        self.longest_ns = max(self.longest_ns, used_ns)
        if self._unreported is None or self._unreported[0] < used_ns:
            self._unreported = used_ns, stack

    def _report(self) -> None:
        if self._unreported is None:
            return
        used_ns, stack = self._unreported
        self._unreported = None
        self._reported_s = time.monotonic()
        log.warning(
            "the event loop is held up by a long turn", cpu_ms=used_ns // 1_000_000, stack=stack
        )


def _stack_of(frame: FrameType | None) -> list[str]:
    """The innermost frames, the innermost first."""
    found: list[str] = []
    while frame is not None and len(found) < FRAMES_MAX:
        code = frame.f_code
        place = "/".join(code.co_filename.rsplit("/", 3)[1:])
        found.append(f"{place}:{frame.f_lineno} {code.co_qualname}")
        frame = frame.f_back
    return found
