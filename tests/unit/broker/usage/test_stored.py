"""Stored bytes are counted for as long as they are there, and within the hour."""

from typing import Any

from tests.unit.broker.usage.workbench import UsageBench

from duolog.core.usage.periods import HOUR_MS


def stored(bench: UsageBench) -> list[tuple[Any, ...]]:
    return [
        (line["kind"], line["resource"], line["bytes"], line["byte_seconds"])
        for line in bench.lines()
        if line["operation"] == "store"
    ]


async def test_what_changes_is_counted_when_it_does(bench: UsageBench) -> None:
    partition = await bench.create("events")
    bench.produce(partition, 10)
    size = partition.log.size_bytes
    await bench.stored.look()
    bench.clock.at_ms += 60_000
    bench.produce(partition, 10)
    await bench.stored.look()
    await bench.pass_interval()
    await bench.send_all()
    assert stored(bench) == [("topic", "events", size, size * 60)]


async def test_what_does_not_change_is_counted_at_the_full_hour(bench: UsageBench) -> None:
    bench.queues.add("orders")
    partition = await bench.create("orders")
    bench.produce(partition, 10)
    size = partition.log.size_bytes
    await bench.pass_interval()
    await bench.stored.look()
    began_ms = bench.clock.now_ms()
    for _ in range(5):
        await bench.pass_interval()
        await bench.stored.look()
    left_ms = HOUR_MS - bench.clock.now_ms() % HOUR_MS
    await bench.pass_interval(left_ms + 20)
    await bench.send_all()
    hour_ms = began_ms - began_ms % HOUR_MS + HOUR_MS
    seconds = (hour_ms - began_ms) / 1000
    ((kind, name, found, byte_seconds),) = stored(bench)
    assert (kind, name, found) == ("queue", "orders", size)
    # What was there before the first look is counted with it, as of the node's start.
    assert size * seconds <= byte_seconds <= size * (seconds + 5)
    assert bench.lines()[-1]["to_ms"] == hour_ms


async def test_a_killed_process_loses_no_storage_of_the_hour(bench: UsageBench) -> None:
    partition = await bench.create("events")
    bench.produce(partition, 10)
    size = partition.log.size_bytes
    await bench.stored.look()
    began_ms = bench.clock.now_ms()
    bench.clock.at_ms += 300_000
    await bench.start()
    await bench.stored.look()
    bench.clock.at_ms += 100_000
    await bench.metering.stop()
    assert began_ms % HOUR_MS + 400_000 < HOUR_MS
    assert stored(bench) == [("topic", "events", size, size * 400)]


async def test_internal_topics_are_nobodys(bench: UsageBench) -> None:
    bench.send("orders")
    await bench.pass_interval()
    await bench.send_all()
    await bench.stored.look()
    await bench.metering.stop()
    assert stored(bench) == []
