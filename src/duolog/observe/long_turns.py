"""Watches for turns of the event loop that use too much CPU: they starve leases and clients.

A thread asks the loop to answer and counts the CPU time that the loop's thread uses until it does.
CPU time, not wall time, so that a busy host is not taken for a long turn. While the loop is idle
it is not asked. Many short callbacks that were ready at once also hold it up: a report says for how
long one and the same was seen at work.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import CO_COROUTINE
from itertools import islice
from types import FrameType

from duolog.observe.logs import get_logger

NS_PER_MS = 1_000_000

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
        self._unreported: _Turn | None = None
        """The longest turn since the last report; None without any."""
        self._outside: set[FrameType] = set()
        """Frames that run the loop, outside all callbacks."""
        self._reported_s = -REPORT_S

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        frames = list(_chain_of(sys._getframe()))
        coroutines = [at for at, each in enumerate(frames) if each.f_code.co_flags & CO_COROUTINE]
        self._outside = set(frames[coroutines[-1] + 1 :])
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
        turn = _Turn()
        while not self._stopping.wait(LOOK_S):
            now_ns = time.clock_gettime_ns(clock)
            if self._is_asked:
                turn.used_ns = now_ns - began_ns
                self._look(turn, watched)
                if turn.used_ns >= LAST_NS:
                    # It may never end, so that nothing would be said.
                    self._note(turn)
            else:
                turn.used_ns = self._answered_ns - began_ns
                if has_asked and turn.used_ns >= LONG_TURN_NS:
                    self.count += 1
                    self._note(turn)
                has_asked = False
                turn = _Turn()
                if now_ns - self._answered_ns >= WORTH_ASKING_NS:
                    began_ns = now_ns
                    self._is_asked = has_asked = True
                    loop.call_soon_threadsafe(self._answer)
            if time.monotonic() - self._reported_s >= REPORT_S:
                self._report()
        self._report()

    def _look(self, turn: "_Turn", watched: int) -> None:
        # No frame is kept for longer than until the next look: it keeps alive what it refers to.
        frame = sys._current_frames().get(watched)
        if not self._is_asked:
            # The turn has ended meanwhile, so that this is another one's.
            return
        inside = [each for each in _chain_of(frame) if each not in self._outside]
        callback = inside[-1] if inside else None
        if callback is None or callback is not turn.callback:
            turn.callback, turn.callback_seen_ns = callback, turn.used_ns
        turn.callback_ns = max(turn.callback_ns, turn.used_ns - turn.callback_seen_ns)
        if callback is not None and turn.used_ns >= STACK_NS:
            turn.stack = _stack_of(frame)

    def _note(self, turn: "_Turn") -> None:
        turn.callback = None
        self.longest_ns = max(self.longest_ns, turn.used_ns)
        if self._unreported is None or self._unreported.used_ns < turn.used_ns:
            self._unreported = turn

    def _report(self) -> None:
        if self._unreported is None:
            return
        turn, self._unreported = self._unreported, None
        self._reported_s = time.monotonic()
        log.warning(
            "the event loop is held up by a long turn",
            cpu_ms=turn.used_ns // NS_PER_MS,
            callback_ms=turn.callback_ns // NS_PER_MS,
            stack=turn.stack,
        )


@dataclass(slots=True)
class _Turn:
    used_ns: int = 0
    """CPU time."""
    callback: FrameType | None = None
    """Outermost frame of the callback, or of the step of a task, that was at work when looked."""
    callback_seen_ns: int = 0
    """CPU time of the turn when this callback was first seen."""
    callback_ns: int = 0
    """Longest CPU time for which one callback was seen at work: at most twice LOOK_S too short."""
    stack: list[str] = field(default_factory=list)


def _chain_of(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _stack_of(frame: FrameType | None) -> list[str]:
    """The innermost frames, the innermost first."""
    found: list[str] = []
    for each in islice(_chain_of(frame), FRAMES_MAX):
        code = each.f_code
        place = "/".join(code.co_filename.rsplit("/", 3)[1:])
        found.append(f"{place}:{each.f_lineno} {code.co_qualname}")
    return found
