"""Messages that were done and come again: replayed, or moved from queue to queue."""

from operator import attrgetter

import pytest
from tests.fakes.queue_house import ACCOUNT, REGION, QueueHouse, bodies

from duolog.broker.queues.registry import QUIET_MS
from duolog.core.queues.message import Outgoing


def replay_all(house: QueueHouse, name: str) -> int:
    house.advance(1)
    return house.run(house.queues.replay(name, 0, house.clock.now_ms()))


def move_back(house: QueueHouse, source: str) -> None:
    house.run(house.queues.move_tasks.start(source, None, None))
    house.until(
        lambda: all(task.status != "RUNNING" for task in house.queues.move_tasks.all()),
        "no move task is running",
    )


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_a_receipt_from_before_a_replay_settles_nothing(house: QueueHouse, fifo: bool) -> None:
    name = "work.fifo" if fifo else "work"
    kept = {"duolog:RetainDeleted": "3600"}
    house.create(name, **kept, **({"FifoQueue": "true"} if fifo else {}))
    house.send(name, Outgoing("a", group_id="g", deduplication_id="1" if fifo else None))
    (before,) = house.receive(name)
    house.delete(name, before.receipt_handle)
    assert replay_all(house, name) == 1
    (after,) = house.receive(name)
    assert (after.message_id, after.receive_count) == (before.message_id, 1)
    (refusal,) = house.delete(name, before.receipt_handle)
    assert (refusal is not None) is fifo
    assert house.change_visibility(name, before.receipt_handle, 0) is not None
    assert house.queue(name).counts() == (0, 1, 0)
    assert house.delete(name, after.receipt_handle) == [None]


def test_what_was_replayed_expires_in_its_time(house: QueueHouse) -> None:
    house.create("work", MessageRetentionPeriod="60", **{"duolog:RetainDeleted": "3600"})
    house.send("work", Outgoing("a"))
    (received,) = house.receive("work")
    house.delete("work", received.receipt_handle)
    house.advance(120_000)
    assert replay_all(house, "work") == 1
    house.advance(50_000)
    assert house.queue("work").counts() == (1, 0, 0)
    house.advance(10_000 + QUIET_MS)
    assert house.queue("work").counts() == (0, 0, 0)


@pytest.mark.parametrize("suffix", ["", ".fifo"], ids=["standard", "fifo"])
def test_a_message_that_was_moved_back_may_die_again(house: QueueHouse, suffix: str) -> None:
    fifo = {"FifoQueue": "true"} if suffix else {}
    house.create(f"dead{suffix}", **fifo)
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:dead{suffix}"
    policy = f'{{"deadLetterTargetArn":"{arn}","maxReceiveCount":1}}'
    house.create(f"work{suffix}", RedrivePolicy=policy, **fifo)
    house.send(
        f"work{suffix}", Outgoing("a", group_id="g", deduplication_id="1" if suffix else None)
    )
    for _ in range(3):
        assert bodies(house.receive(f"work{suffix}", visibility_ms=1_000)) == ["a"]
        house.advance(1_000)
        assert house.queue(f"work{suffix}").counts() == (0, 0, 0)
        assert house.queue(f"dead{suffix}").counts() == (1, 0, 0)
        move_back(house, f"dead{suffix}")


def test_an_attempt_gets_the_same_from_all_partitions_and_nothing_else(house: QueueHouse) -> None:
    house.create(
        "work.fifo",
        FifoQueue="true",
        DeduplicationScope="messageGroup",
        FifoThroughputLimit="perMessageGroupId",
    )
    groups = "abcdef"
    house.send(
        "work.fifo", *(Outgoing(each, group_id=each, deduplication_id="1") for each in groups)
    )
    first = house.receive("work.fifo", 5, attempt="try")
    house.send(
        "work.fifo", *(Outgoing(each, group_id=each * 2, deduplication_id="1") for each in groups)
    )
    for _ in range(3):
        again = house.receive("work.fifo", 5, attempt="try")
        by_id = attrgetter("message_id")
        assert sorted(again, key=by_id) == sorted(first, key=by_id)
    assert len(first) == 5
