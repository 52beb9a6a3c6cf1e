"""Whatever becomes of a process, what it counted is in the log once."""

import asyncio
import errno

import msgspec
import pytest
from tests.unit.broker.usage.workbench import INTERVAL_MS, UsageBench

from duolog.broker.usage.journal import JOURNAL_FILE, WAITING_MAX
from duolog.core.usage.periods import HOUR_MS
from duolog.model.errors import NotLeader
from duolog.ports.peers import PeerUnreachable


async def test_an_interval_becomes_lines_and_its_file_goes(bench: UsageBench) -> None:
    bench.send("orders", 3)
    bench.send("orders", 4)
    bench.send("bills")
    began_ms = bench.clock.now_ms()
    await bench.pass_interval()
    await bench.send_all()
    fields = ("sequence", "line", "parts", "resource", "requests", "messages", "bytes", "from_ms")
    assert bench.told(*fields) == [
        (0, 0, 1, "orders", 2, 7, 70, began_ms),
        (0, 1, 1, "bills", 1, 1, 10, began_ms),
    ]
    assert {line["to_ms"] for line in bench.lines()} == {began_ms + INTERVAL_MS}
    # What is counted into, and the next one, which nobody has to wait for then.
    assert len(bench.files.names()) == 1
    await bench.metering.meter._make_spare()
    assert len(bench.files.names()) == 2


async def test_an_idle_interval_leaves_no_trace(bench: UsageBench) -> None:
    bench.send("orders")
    await bench.pass_interval()
    await bench.send_all()
    files = bench.files.names()
    for _ in range(10):
        await bench.pass_interval()
    assert len(bench.files.names()) <= len(files) + 1
    bench.send("orders")
    await bench.pass_interval()
    await bench.send_all()
    last = bench.lines()[-1]
    assert last["sequence"] == 1
    assert last["to_ms"] - last["from_ms"] == INTERVAL_MS


async def test_the_full_hour_ends_an_interval(bench: UsageBench) -> None:
    hour_ms = bench.clock.now_ms() - bench.clock.now_ms() % HOUR_MS + HOUR_MS
    await bench.pass_interval(hour_ms - bench.clock.now_ms() - 2_000)
    bench.send("orders")
    # The timer comes a little late.
    await bench.pass_interval(2_030)
    bench.send("orders")
    await bench.pass_interval()
    await bench.send_all()
    assert bench.told("sequence", "from_ms", "to_ms") == [
        (0, hour_ms - 2_000, hour_ms),
        (1, hour_ms, hour_ms + 30 + INTERVAL_MS),
    ]


async def test_what_a_killed_process_has_counted_is_sent_by_the_next(bench: UsageBench) -> None:
    bench.send("orders", 3)
    await bench.start()
    bench.send("orders", 4)
    await bench.pass_interval()
    await bench.send_all()
    assert bench.told("journal", "sequence", "messages") == [
        (f"{1:032x}", 0, 3),
        (f"{1:032x}", 1, 4),
    ]


async def test_an_interval_that_was_not_noted_as_sent_is_in_the_log_once(
    bench: UsageBench,
) -> None:
    bench.send("orders", 3)
    await bench.pass_interval()
    interval = await bench.journal.read(0, INTERVAL_MS)
    await bench.sender._send(interval)
    await bench.start()
    await bench.send_all()
    bench.send("orders", 4)
    await bench.pass_interval()
    await bench.send_all()
    assert bench.told("sequence", "messages") == [(0, 3), (1, 4)]
    assert [counts.messages for _, counts in bench.metering.told().totals] == [7]


async def test_an_interval_that_is_noted_as_sent_is_not_sent_again(bench: UsageBench) -> None:
    bench.send("orders", 3)
    await bench.pass_interval()
    kept = bench.files.held.copy()
    await bench.send_all()
    # Killed before the file was removed.
    bench.files.held = kept
    await bench.start()
    assert not bench.journal.waiting
    assert bench.told("sequence", "messages") == [(0, 3)]


async def test_an_answer_that_is_lost_makes_no_line_twice(
    bench: UsageBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = bench.topic.append

    async def lose_answer(index: int, batch: bytearray) -> None:
        await append(index, batch)
        raise PeerUnreachable(2, "does not answer", was_sent=True)

    monkeypatch.setattr(bench.topic, "append", lose_answer)
    for number in (1, 2):
        bench.send("orders", number)
        await bench.pass_interval()
    assert not await bench.sender.send_next()
    assert not await bench.sender.send_next()
    monkeypatch.undo()
    await bench.send_all()
    assert bench.told("sequence", "messages") == [(0, 1), (1, 2)]


async def test_lines_wait_in_order_while_nobody_leads(
    bench: UsageBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(index: int, batch: bytearray) -> None:
        raise NotLeader("nobody leads it")

    monkeypatch.setattr(bench.topic, "append", refuse)
    for number in (1, 2, 3):
        bench.send("orders", number)
        await bench.pass_interval()
        assert not await bench.sender.send_next()
    monkeypatch.undo()
    await bench.send_all()
    assert bench.told("sequence", "messages") == [(0, 1), (1, 2), (2, 3)]


async def test_when_many_intervals_wait_they_last_until_the_full_hour(bench: UsageBench) -> None:
    for _ in range(WAITING_MAX + 20):
        bench.send("orders")
        await bench.pass_interval()
    assert len(bench.journal.waiting) == WAITING_MAX
    await bench.pass_interval(HOUR_MS)
    assert len(bench.journal.waiting) == WAITING_MAX + 1
    await bench.send_all()
    assert sum(line["messages"] for line in bench.lines()) == WAITING_MAX + 20


async def test_a_full_disk_makes_the_interval_longer(bench: UsageBench) -> None:
    bench.files.is_full = True
    for _ in range(3):
        bench.send("orders")
        await bench.pass_interval()
    assert not bench.journal.waiting
    bench.files.is_full = False
    await bench.pass_interval()
    await bench.send_all()
    assert bench.told("sequence", "messages") == [(0, 3)]


async def test_time_passes_between_attempts_to_cut(
    bench: UsageBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        bench.clock.at_ms += round(seconds * 1000)
        bench.send("orders")
        if len(pauses) == 10:
            bench.files.is_full = False
        if len(pauses) == 20:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    bench.files.is_full = True
    with pytest.raises(asyncio.CancelledError):
        await bench.metering.meter.run()
    assert pauses == [INTERVAL_MS / 1000] * 20
    assert 8 <= len(bench.journal.waiting) <= 10


async def test_what_could_not_be_noted_is_noted_later(bench: UsageBench) -> None:
    bench.send("orders", 3)
    await bench.pass_interval()
    await bench.send_all()
    bench.send("orders", 4)
    await bench.pass_interval()
    bench.disk.fail("write", errno.ENOSPC, path_part=JOURNAL_FILE)
    assert not await bench.sender.send_next()
    bench.disk.clear_faults()
    await bench.send_all()
    assert bench.told("sequence", "messages") == [(0, 3), (1, 4)]
    assert bench.metering.told().sent_sequence == 1


async def test_a_log_that_has_lost_lines_gets_the_next_ones(bench: UsageBench) -> None:
    bench.send("orders")
    await bench.pass_interval()
    await bench.send_all()
    journal = bench.journal
    journal.remembered = msgspec.structs.replace(journal.remembered, next_producer_sequence=7)
    bench.send("orders", 2)
    await bench.pass_interval()
    assert not await bench.sender.send_next()
    await bench.send_all()
    assert bench.told("sequence", "messages") == [(0, 1), (1, 2)]


async def test_without_its_journal_usage_begins_another(bench: UsageBench) -> None:
    for number in (1, 2):
        bench.send("orders", number)
        await bench.pass_interval()
        await bench.send_all()
    bench.send("orders", 3)
    bench.disk.overwrite(JOURNAL_FILE, b"damaged")
    await bench.start()
    await bench.send_all()
    assert bench.told("journal", "sequence", "messages") == [
        (f"{1:032x}", 0, 1),
        (f"{1:032x}", 1, 2),
        (f"{2:032x}", 0, 3),
    ]


async def test_the_last_lines_are_sent_when_a_node_stops(bench: UsageBench) -> None:
    bench.send("orders", 3)
    await bench.metering.stop()
    assert bench.told("sequence", "messages") == [(0, 3)]
    assert [counts.messages for _, counts in bench.broker.meter.totals()] == [3]


async def test_totals_since_the_start_include_what_is_not_closed(bench: UsageBench) -> None:
    bench.send("orders", 3)
    await bench.pass_interval()
    bench.send("orders", 4)
    ((key, counts),) = bench.broker.meter.totals()
    assert (key.resource, key.operation, counts.messages) == ("orders", "send", 7)
