"""A turn that uses too much CPU is counted and reported with its stack; waiting is not."""

import asyncio
import io
import json
import logging
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from duolog.observe import long_turns
from duolog.observe.logs import configure_logs
from duolog.observe.long_turns import LONG_TURN_NS, LongTurns

SECONDS_MAX = 20.0


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def burn(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass


async def watched(held_up: float, turns: LongTurns) -> None:
    """Uses so much CPU in one turn, while the thread watches."""
    turns.start()
    # The loop is asked once it has done something.
    deadline = time.monotonic() + SECONDS_MAX
    while not turns._is_asked and time.monotonic() < deadline:
        burn(0.002)
        await asyncio.sleep(0)
    burn(held_up)
    await asyncio.sleep(0.1)
    turns.stop()


async def test_a_long_turn_is_reported_with_its_stack(stream: io.StringIO) -> None:
    turns = LongTurns()
    await watched(1.0, turns)
    assert turns.count >= 1
    assert turns.longest_ns >= LONG_TURN_NS
    reports = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert any("burn" in frame for report in reports for frame in report["stack"])
    assert max(report["cpu_ms"] for report in reports) >= 1_000
    assert max(report["callback_ms"] for report in reports) >= 900


async def test_many_callbacks_that_are_ready_at_once_are_told_from_a_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[tuple[int, int]] = []
    told: Any = SimpleNamespace(
        warning=lambda event, cpu_ms, callback_ms, stack: reports.append((cpu_ms, callback_ms))
    )
    monkeypatch.setattr(long_turns, "log", told)
    turns = LongTurns()
    turns.start()
    while not turns._is_asked:
        burn(0.002)
        await asyncio.sleep(0)
    for _ in range(40):
        asyncio.get_running_loop().call_soon(burn, 0.005)
    await asyncio.sleep(0.05)
    turns.stop()
    assert all(callback_ms < 100 for _, callback_ms in reports)


async def test_of_several_long_turns_within_a_second_the_longest_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[int] = []
    told: Any = SimpleNamespace(warning=lambda event, cpu_ms, **_: reports.append(cpu_ms))
    monkeypatch.setattr(long_turns, "log", told)
    turns = LongTurns()
    turns.start()
    for seconds in (0.06, 0.06, 0.2, 0.06):
        while not turns._is_asked:
            burn(0.002)
            await asyncio.sleep(0)
        burn(seconds)
        await asyncio.sleep(0.05)
    turns.stop()
    assert turns.count == 4
    assert turns.longest_ns >= 200_000_000
    assert max(reports) >= 200
    assert len(reports) < 4


async def test_short_turns_and_waiting_are_not_reported(stream: io.StringIO) -> None:
    turns = LongTurns()
    turns.start()
    for _ in range(50):
        burn(0.004)
        await asyncio.sleep(0)
    time.sleep(0.3)  # noqa: ASYNC251
    await asyncio.sleep(0.1)
    turns.stop()
    assert turns.count == 0
    assert stream.getvalue() == ""
