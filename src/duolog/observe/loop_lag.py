"""Event loop lag: how late due timers run, the first sign of work that blocks the loop."""

import asyncio

from duolog.observe.histogram import Histogram

PROBE_INTERVAL_SECONDS = 0.25


class LoopLagProbe:
    """Timer that records its own delay. Start it on the running loop."""

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
