"""Virtual time: runs everything that is ready, then jumps to the next timer.

All processes of a simulation share one queue of callbacks and one heap of timers. Each has an event
loop of its own (loop.py), so that one can be paused, or killed at any point, while the others go
on.

A callback may take time (cpu.py). It sees its own clock advance, and what it sends or schedules is
later by as much; then the world goes back to the time at which it began, and runs the callbacks of
other processes, while those of the same one wait.
"""

import asyncio
import gc
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from itertools import count
from traceback import format_exception
from typing import Any, TypeVar

from duolog.sim.loop import ProcessLoop, SimHandle, new_loop
from duolog.sim.seed import Seed

T = TypeVar("T")

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

STEPS_PER_INSTANT_MAX = 200_000
"""Limit of callbacks at one virtual instant; more are taken for an endless loop."""

EARLY_NS = 200_000
"""Time by which a callback may be run before its loop is free, on the loop's own clock: that saves
the world a timer for each of many small costs."""

_GRAVES: list[asyncio.Task[Any]] = []
"""Tasks of dead processes, kept for as long as Python runs: a task that is garbage-collected is
closed, which would run its `finally` blocks."""


class Deadlock(Exception):
    """Nothing is ready and no timer is set, so every waiting task would wait for ever."""


class Livelock(Exception):
    """Callbacks schedule callbacks without end while no time passes."""


class PowerCut(BaseException):
    """Ends the process here. Not an Exception, so that none of its handlers catch it."""


class World:
    def __init__(self, seed: Seed) -> None:
        self.seed = seed
        self.now_ns = 0
        self.steps = 0
        """Callbacks run so far."""
        self.trace = 0
        """A digest of everything that has happened: equal runs have equal digests."""
        self.problems: list[str] = []
        """Unhandled exceptions of all processes."""
        self.ready: deque[SimHandle] = deque()
        self._timers: list[tuple[int, int, SimHandle]] = []
        self._timer_numbers = count(1)
        self.next_number = count(1).__next__
        """Returns a number that is unique in this run."""
        self.running: ProcessLoop | None = None
        """Loop whose callback runs now."""
        self.loops: list[ProcessLoop] = []
        self.ground = new_loop(self, "world")
        """The loop for everything outside of processes: faults, the store, the oracle."""

    def set_timer(self, handle: SimHandle) -> None:
        heappush(self._timers, (handle.when_ns, next(self._timer_numbers), handle))

    def after(
        self,
        delay_ns: int,
        callback: Callable[..., object],
        *args: Any,
        loop: ProcessLoop | None = None,
    ) -> SimHandle:
        """Call back after a delay, on the loop of a process, or on the world's own."""
        when_ns = self.now_ns + max(0, delay_ns)
        handle = SimHandle(callback, args, loop or self.ground, None, when_ns)
        heappush(self._timers, (when_ns, next(self._timer_numbers), handle))
        return handle

    def run(self, main: Coroutine[Any, Any, T], *, seconds_max: float = 3_600.0) -> T:
        """Run until `main`, a coroutine of the world, is done.

        The garbage collector is off meanwhile: the seed does not decide when it would run, and it
        closes generators, which is an effect.
        """
        was_enabled = gc.isenabled()
        gc.disable()
        task = self.ground.create_task(main)
        end_ns = self.now_ns + int(seconds_max * NS_PER_S)
        try:
            self._run(task.done, end_ns)
            if not task.done():
                raise TimeoutError(f"not done after {seconds_max:g} virtual seconds")
        finally:
            asyncio._set_running_loop(None)
            if was_enabled:
                gc.enable()
        return task.result()

    def run_for(self, duration_ns: int) -> None:
        """Let virtual time pass, for a caller that runs in an event loop of its own."""
        outer = asyncio._get_running_loop()
        end_ns = self.now_ns + duration_ns
        self.after(duration_ns, _nothing)
        try:
            self._run(lambda: self.now_ns >= end_ns, end_ns)
        finally:
            asyncio._set_running_loop(outer)

    def _run(self, is_done: Callable[[], bool], end_ns: int) -> None:
        ready, timers = self.ready, self._timers
        self.running = None
        steps = self.steps
        allowed = steps + STEPS_PER_INSTANT_MAX
        while True:
            while ready:
                handle = ready.popleft()
                callback = handle.callback
                if callback is None:
                    continue
                loop = handle.loop
                if loop.is_held:
                    loop.hold(handle)
                    continue
                now_ns = self.now_ns
                if loop.free_ns > now_ns:
                    if loop.free_ns > now_ns + EARLY_NS or loop.is_late:
                        loop.delay(handle)
                        continue
                    self.now_ns = loop.free_ns
                elif loop.is_late:
                    loop.delay(handle)
                    continue
                if loop is not self.running:
                    asyncio._set_running_loop(loop)
                    self.running = loop
                steps += 1
                try:
                    if handle.context is None:
                        callback(*handle.args)
                    else:
                        handle.context.run(callback, *handle.args)
                except (KeyboardInterrupt, SystemExit):
                    raise
                except PowerCut:
                    assert loop.is_dead
                except BaseException as error:
                    loop.call_exception_handler({"message": "callback failed", "exception": error})
                if self.now_ns != now_ns:
                    loop.free_ns = self.now_ns
                    self.now_ns = now_ns
                    loop.cpu.end_turn()
                if steps > allowed:
                    raise Livelock(f"{handle!r} of {loop.name} at {self.now_ns / NS_PER_S:.6f} s")
            self.steps = steps
            if is_done():
                return
            if not timers:
                raise Deadlock(f"at {self.now_ns / NS_PER_S:.6f} s")
            if timers[0][0] > end_ns:
                return
            when_ns, number, handle = heappop(timers)
            if handle.callback is None:
                continue
            if when_ns > self.now_ns:
                self.now_ns = when_ns
                allowed = steps + STEPS_PER_INSTANT_MAX
            self.trace = hash((self.trace, when_ns, number, steps))
            ready.append(handle)

    def report(self, text: str, error: BaseException | None) -> None:
        trace = "".join(format_exception(error)) if error is not None else ""
        self.problems.append(f"{text}\n{trace}")

    def bury(self, loop: ProcessLoop) -> None:
        """Keep a dead process's tasks, so that none of them is closed and runs its `finally`
        blocks."""
        _GRAVES.extend(asyncio.all_tasks(loop))

    def close(self) -> None:
        """End all processes and drop everything scheduled."""
        for loop in self.loops:
            loop.end()
        self.ready.clear()
        self._timers.clear()


def _nothing() -> None:
    """Do nothing: for timers that only make time pass."""
