"""How late the event loop runs what was due: the first sign of work that blocks it."""

import asyncio

from duolog.observe.histogram import Histogram

PROBE_INTERVAL_SECONDS = 0.25


class LoopLagProbe:
    """A timer that notes by how much it was late. Start it on the running loop."""

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._arm(asyncio.get_running_loop())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + PROBE_INTERVAL_SECONDS
        self._timer = loop.call_at(due, self._fire, loop, due)

    def _fire(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        # uvloop's timers count whole milliseconds and may fire a little early.
        self._histogram.observe(max(0.0, loop.time() - due))
        self._arm(loop)
