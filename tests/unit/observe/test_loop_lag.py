"""Work that blocks the event loop is seen."""

import asyncio
import time

import pytest

from duolog.observe import loop_lag
from duolog.observe.histogram import Histogram


async def test_a_blocked_loop_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lag, "PROBE_INTERVAL_SECONDS", 0.01)
    histogram = Histogram((0.04,))
    probe = loop_lag.LoopLagProbe(histogram)
    probe.start()
    await asyncio.sleep(0)
    time.sleep(0.06)  # noqa: ASYNC251
    await asyncio.sleep(0.02)
    probe.stop()
    assert histogram.counts[1] >= 1
    assert histogram.total_seconds >= 0.04
