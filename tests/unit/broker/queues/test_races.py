"""What happens to queues when several things happen at once, or a disk is slow or full."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from tests.fakes.held_disk import HeldDisk
from tests.fakes.queue_house import QueueHouse, bodies, redrive

from duolog.broker.queues import serving
from duolog.broker.queues.journal import RETRY_MS
from duolog.broker.queues.recovery import read_state
from duolog.core.queues.message import MessageAttribute, Outgoing
from duolog.model.errors import StorageFailed
from duolog.model.queue_errors import QueueNameExists, UnsupportedOperation


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


def test_a_queue_deleted_while_its_dead_letters_move_harms_no_other(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("dead")
    house.create("work", RedrivePolicy=redrive("dead"))
    house.create("other")
    house.send("work", Outgoing("poison"))
    house.receive("work", visibility_ms=1_000)
    disk.is_held = True
    house.advance(1_000)
    assert house.queue("work").partitions[0].is_burying
    house.run(house.queues.delete("work"))
    house.release()
    house.settle()
    assert house.failures == []
    house.send("other", Outgoing("fine"))
    assert bodies(house.receive("other")) == ["fine"]


def test_a_queue_that_others_read_is_not_deleted(house: QueueHouse) -> None:
    house.create("orders")
    house.create("audit", **{"duolog:SourceTopic": "orders"})
    house.send("orders", Outgoing("a"))
    with pytest.raises(UnsupportedOperation):
        house.run(house.queues.delete("orders"))
    house.restart()
    assert bodies(house.receive("orders")) == bodies(house.receive("audit")) == ["a"]
    house.run(house.queues.delete("audit"))
    house.run(house.queues.delete("orders"))
    house.restart()
    assert len(house.queues) == 0


@pytest.mark.parametrize("head_start", range(0, 30, 3))
def test_of_two_who_create_a_queue_differently_one_wins(house: QueueHouse, head_start: int) -> None:
    async def create(turns: int, seconds: str) -> Any:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await house.queues.create("work", {"VisibilityTimeout": seconds}, {})

    async def race() -> list[Any]:
        racers = create(0, "5"), create(head_start, "6")
        return await asyncio.gather(*racers, return_exceptions=True)

    results = house.run(race())
    assert sorted(isinstance(each, QueueNameExists) for each in results) == [False, True]
    house.send("work", Outgoing("a"))
    assert bodies(house.receive("work")) == ["a"]


@pytest.mark.parametrize("fifo", [False, True])
def test_new_messages_do_not_inherit_what_became_of_lost_ones(
    house: QueueHouse, fifo: bool
) -> None:
    name = "work.fifo" if fifo else "work"
    kind = {"FifoQueue": "true"} if fifo else {}
    house.create(name, **{"duolog:Durability": "os", **kind})

    def message(text: str) -> Outgoing:
        given = {"group_id": text, "deduplication_id": text} if fifo else {}
        return Outgoing(text, **given)

    house.send(name, message("first"))
    house.receive(name)

    async def sync(*partitions: Any) -> None:
        for each in partitions:
            house.broker.flusher.request(each)
        await house.broker.flusher.drain()

    house.run(sync(*house.broker.partitions()))
    house.send(name, *(message(f"old{each}") for each in range(3)))
    received = house.receive(name, 10)
    house.delete(name, *(each.receipt_handle for each in received))
    journal = house.queue(name).partitions[0].journal
    assert journal is not None
    house.run(sync(journal.partition))
    house.advance(6_000)
    house.crash()
    house.send(name, *(message(f"new{each}") for each in range(3)))
    house.kill()
    assert sorted(bodies(house.receive(name, 10))) == ["new0", "new1", "new2"]


def test_a_long_poll_is_served_from_a_partition_that_came_later(house: QueueHouse) -> None:
    house.create("work")
    house.receive("work")
    house.park("work", answers := [])
    house.run(house.broker.catalog.create_partitions("work", 2))
    for number in range(4):
        house.send("work", Outgoing(str(number)))
    house.settle()
    assert len(answers) == 1
    received = [*bodies(answers[0]), *bodies(house.receive("work", 10))]
    assert sorted(received) == ["0", "1", "2", "3"]


def test_dead_letters_with_large_attributes_are_moved(house: QueueHouse) -> None:
    house.create("dead")
    house.create("work", RedrivePolicy=redrive("dead"))
    large = {"blob": MessageAttribute("Binary", bytes(250_000))}
    for number in range(80):
        house.send("work", Outgoing(str(number), large))
    while house.receive("work", 10, visibility_ms=1_000):
        pass
    house.advance(1_000)
    for _ in range(5):
        house.settle()
    assert house.queue("work").counts() == (0, 0, 0)
    assert house.queue("dead").counts() == (80, 0, 0)


def test_a_group_stays_in_order_while_its_queue_grows(house: QueueHouse, disk: HeldDisk) -> None:
    house.create("work.fifo", FifoQueue="true", DeduplicationScope="messageGroup")
    house.receive("work.fifo")
    sent: list[Any] = []

    def send(text: str) -> None:
        async def begin() -> None:
            message = Outgoing(text, group_id="g7", deduplication_id=text)
            house.queue("work.fifo").send([message], sent.append)

        house.run(begin())
        house.settle()

    disk.is_held = True
    send("1")
    house.run(house.broker.catalog.create_partitions("work.fifo", 4))
    send("2")
    house.release()
    house.settle()
    assert len(sent) == 2
    assert bodies(house.receive("work.fifo", 1)) == ["1"]
    assert house.receive("work.fifo", 10) == []


def test_a_full_disk_costs_one_reading_for_as_long_as_it_is_full(
    house: QueueHouse, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    (held,) = house.receive("work", visibility_ms=60_000)
    readings: list[object] = []

    async def read_and_count(*args: Any) -> None:
        readings.append(args)
        await read_state(*args)

    monkeypatch.setattr(serving, "read_state", read_and_count)
    disk.capacity_bytes = 0
    for _ in range(10):
        with pytest.raises(StorageFailed, match="written"):
            house.delete("work", held.receipt_handle)
        house.advance(RETRY_MS)
    assert len(readings) == 1
    disk.capacity_bytes = None
    house.advance(RETRY_MS)
    assert house.delete("work", held.receipt_handle) == [None]
    house.crash()
    house.advance(120_000)
    assert house.receive("work") == []


def test_what_is_left_of_a_deleted_queue_is_not_the_next_ones(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.create("work")
    house.send("work", Outgoing("old"))
    house.receive("work")
    topics = house.broker.catalog
    remove_topic = topics.remove_topic

    async def fails(name: str, topic_id: UUID) -> None:
        raise UnsupportedOperation("not now")

    monkeypatch.setattr(topics, "remove_topic", fails)
    with pytest.raises(UnsupportedOperation):
        house.run(house.queues.delete("work"))
    monkeypatch.setattr(topics, "remove_topic", remove_topic)
    house.create("work")
    assert house.queue("work").counts() == (0, 0, 0)
    house.restart()
    assert house.queue("work").counts() == (0, 0, 0)
