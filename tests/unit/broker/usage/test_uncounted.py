"""What was written and not counted when a process was killed is counted by the next."""

from tests.unit.broker.usage.workbench import UsageBench


async def test_records_that_a_killed_process_did_not_count_are_counted_once(
    bench: UsageBench,
) -> None:
    partition = await bench.create("events")
    bench.produce(partition, 2)
    bench.produce(partition, 3, is_counted=False)
    size = partition.log.size_bytes
    for _ in range(2):
        await bench.start()
    await bench.pass_interval()
    await bench.send_all()
    produced = [line for line in bench.lines() if line["operation"] == "produce"]
    assert [(line["requests"], line["messages"]) for line in produced] == [(1, 2), (1, 3)]
    assert sum(line["bytes"] for line in produced) == size


async def test_records_of_a_queue_are_counted_by_the_door_they_came_by(bench: UsageBench) -> None:
    partition = await bench.create("orders")
    bench.produce(partition, 2)
    bench.produce(partition, 3, is_counted=False)
    bench.queues.add("orders")
    await bench.start()
    await bench.send_all()
    assert bench.told("operation", "messages") == [("produce", 2)]


async def test_records_that_were_counted_are_not_counted_again(bench: UsageBench) -> None:
    partition = await bench.create("events")
    bench.produce(partition, 2)
    await bench.pass_interval()
    bench.produce(partition, 1)
    await bench.start()
    await bench.send_all()
    assert bench.told("operation", "messages") == [("produce", 2), ("produce", 1)]
