"""What was appended and not counted when a process was killed is counted by the next."""

from tests.unit.broker.usage.workbench import UsageBench


async def test_records_that_a_killed_process_did_not_count_are_counted_once(
    bench: UsageBench,
) -> None:
    partition = await bench.create("events")
    bench.produce(partition, 2)
    await bench.pass_interval()
    bench.produce(partition, 3)
    bench.produce(partition, 4)
    size = partition.log.size_bytes
    for _ in range(3):
        await bench.start()
    await bench.pass_interval()
    await bench.send_all()
    produced = [line for line in bench.lines() if line["operation"] == "produce"]
    assert [(line["requests"], line["messages"]) for line in produced] == [(1, 2), (2, 7)]
    assert sum(line["bytes"] for line in produced) == size


async def test_records_of_a_queue_are_counted_by_the_door_they_came_by(bench: UsageBench) -> None:
    partition = await bench.create("orders")
    bench.produce(partition, 2)
    bench.send_here(partition, 10)
    bench.produce(partition, 3)
    await bench.pass_interval()
    bench.send_here(partition, 10)
    await bench.start()
    partition = bench.broker.partition("orders", 0)
    bench.produce(partition, 4)
    bench.send_here(partition, 10)
    bench.produce(partition, 5)
    await bench.start()
    await bench.pass_interval()
    await bench.send_all()
    assert bench.told("operation", "requests", "messages") == [
        ("produce", 2, 5),
        ("produce", 1, 4),
        ("produce", 1, 5),
    ]


async def test_a_leader_counts_what_it_led_when_it_ceases_to(bench: UsageBench) -> None:
    partition = await bench.create("events")
    bench.produce(partition, 2)
    bench.metering.left(partition)
    assert [counts.messages for _, counts in bench.broker.meter.totals()] == [2]
    await bench.start()
    await bench.send_all()
    assert bench.told("operation", "messages") == [("produce", 2)]
