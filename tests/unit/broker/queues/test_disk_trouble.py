"""Queues on a disk that takes its time, or has no room: what is told is true all the same."""

import asyncio
from errno import EIO
from typing import Any

import pytest
from tests.fakes.held_disk import HeldDisk
from tests.fakes.queue_house import TURNS, QueueHouse, bodies

from duolog.broker.queues import serving, upkeep
from duolog.broker.queues.journal import RETRY_MS
from duolog.broker.queues.recovery import read_state
from duolog.broker.queues.registry import QUIET_MS
from duolog.core.queues.message import Outgoing
from duolog.core.queues.routing import partition_for_group
from duolog.model.errors import NotLeader, StorageFailed
from duolog.records.changes import Deleted

JOURNAL = "__queue."


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


def test_nothing_is_told_before_it_is_durable(house: QueueHouse, disk: HeldDisk) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    (first,) = house.receive("work")
    disk.is_held = True
    sent = house.send_later("work", Outgoing("b"))
    deleted = house.delete_later("work", first.receipt_handle)
    again = house.delete_later("work", first.receipt_handle)
    assert (sent, deleted, again) == ([], [], [])
    house.release()
    assert [len(answer) for answer in (*sent, *deleted, *again)] == [1, 1, 1]


def test_what_a_crash_has_undone_was_told_to_nobody(house: QueueHouse, disk: HeldDisk) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    (first,) = house.receive("work", visibility_ms=60_000)
    disk.is_held = True
    assert house.delete_later("work", first.receipt_handle) == []
    house.crash()
    assert house.queue("work").counts() == (0, 1, 0)
    assert house.delete("work", first.receipt_handle) == [None]
    assert house.queue("work").counts() == (0, 0, 0)


def test_an_abandoned_receive_does_not_end_a_newer_delivery(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("work", VisibilityTimeout="1")
    house.send("work", Outgoing("warm-up"))
    (received,) = house.receive("work")
    house.delete("work", received.receipt_handle)
    house.send("work", Outgoing("a"))
    disk.is_held = True
    house.park("work", abandoned := []).abandon()
    house.advance(1_000)
    house.park("work", second := [])
    house.release()
    assert abandoned == []
    assert [[each.receive_count for each in answer] for answer in second] == [[2]]
    assert house.queue("work").counts() == (0, 1, 0)


def test_a_purge_takes_nothing_that_is_acknowledged_after_it(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("work")
    house.receive("work")
    disk.is_held = True
    sent = house.send_later("work", Outgoing("late"))

    async def purge() -> None:
        work = asyncio.ensure_future(house.queues.purge("work"))
        for _ in range(TURNS):
            await asyncio.sleep(0)
        disk.release()
        await work

    house.run(purge())
    assert len(sent) == 1
    assert house.queue("work").counts() == (1, 0, 0)
    house.crash()
    assert bodies(house.receive("work")) == ["late"]


def test_a_failed_write_refuses_a_receive_and_hides_nothing(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    house.receive("work", visibility_ms=0)
    house.settle()
    disk.fail("write", EIO, path_part=JOURNAL)
    with pytest.raises(StorageFailed):
        house.receive("work")
    assert house.queue("work").counts() == (1, 0, 0)
    house.advance(RETRY_MS)
    (received,) = house.receive("work")
    assert (received.message.body, received.receive_count) == ("a", 2)
    house.crash()
    assert house.queue("work").counts() == (0, 1, 0)


def test_a_message_is_not_forgotten_before_it_is_certain_that_it_is_done(
    house: QueueHouse, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "RECLAIM_BYTES_MIN", 1)
    house.create("work")
    house.send("work", Outgoing("a"))
    (received,) = house.receive("work", visibility_ms=3_600_000)
    disk.is_held = True
    assert house.delete_later("work", received.receipt_handle) == []
    for _ in range(3):
        house.advance(QUIET_MS)
    log = house.queue("work").partitions[0].data.log
    assert log.start_offset == 0
    house.crash()
    assert house.queue("work").counts() == (0, 1, 0)
    assert house.delete("work", received.receipt_handle) == [None]
    for _ in range(3):
        house.advance(QUIET_MS)
    assert house.queue("work").partitions[0].data.log.start_offset == 1


def test_a_failed_write_refuses_a_deletion_which_can_be_repeated(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    (received,) = house.receive("work")
    disk.fail("write", EIO, path_part=JOURNAL)
    with pytest.raises(StorageFailed):
        house.delete("work", received.receipt_handle)
    assert house.queue("work").counts() == (0, 1, 0)
    house.advance(RETRY_MS)
    assert house.delete("work", received.receipt_handle) == [None]
    house.crash()
    assert house.queue("work").counts() == (0, 0, 0)


def test_who_waits_is_served_when_the_disk_works_again(house: QueueHouse, disk: HeldDisk) -> None:
    house.create("work")
    house.receive("work")
    house.park("work", first := [])
    house.park("work", second := [])
    disk.fail("write", EIO, path_part=JOURNAL)
    house.send("work", Outgoing("a"))
    house.settle()
    assert [type(answer) for answer in first] == [StorageFailed]
    house.advance(RETRY_MS)
    assert [bodies(answer) for answer in second] == [["a"]]


def test_a_repetition_is_recognised_although_a_write_has_failed(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("work.fifo", FifoQueue="true")
    house.send("work.fifo", Outgoing("a", group_id="g", deduplication_id="1"))
    (received,) = house.receive("work.fifo")
    disk.is_held = True
    first = house.send_later("work.fifo", Outgoing("b", group_id="g", deduplication_id="2"))
    disk.fail("write", EIO, path_part=JOURNAL)
    refused = house.delete_later("work.fifo", received.receipt_handle)
    assert [type(answer) for answer in refused] == [StorageFailed]
    again = house.send_later("work.fifo", Outgoing("b", group_id="g", deduplication_id="2"))
    house.release()
    assert first == again
    assert house.queue("work.fifo").counts() == (1, 1, 0)


def test_a_failed_send_leaves_no_trace(house: QueueHouse, disk: HeldDisk) -> None:
    house.create("work.fifo", FifoQueue="true")
    message = Outgoing("a", group_id="g", deduplication_id="1")
    disk.fail("write", EIO, path_part="work.fifo-0")
    assert [type(each) for each in house.send("work.fifo", message)] == [StorageFailed]
    house.advance(RETRY_MS)
    house.send("work.fifo", message)
    assert bodies(house.receive("work.fifo", 10)) == ["a"]


def test_a_group_keeps_its_order_while_it_moves_to_another_partition(
    house: QueueHouse, disk: HeldDisk
) -> None:
    def message(body: str) -> Outgoing:
        return Outgoing(body, group_id=group, deduplication_id=body)

    partitions = house.settings.integer("queue.fifo.partitions")
    group = next(each for each in "abcdefgh" if partition_for_group(each.encode(), partitions))
    house.create("work.fifo", FifoQueue="true")
    house.send("work.fifo", message("0"))
    (first,) = house.receive("work.fifo")
    high_throughput = {
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
    }
    house.run(house.queues.set_attributes("work.fifo", high_throughput))
    house.receive("work.fifo")
    disk.is_held = True
    # The first of these joins its group in the old partition. Is the group still there?
    house.send_later("work.fifo", message("1"))
    house.delete_later("work.fifo", first.receipt_handle)
    house.send_later("work.fifo", message("2"))
    house.release()
    assert house.queue("work.fifo").counts() == (2, 0, 0)
    (second,) = house.receive("work.fifo")
    assert second.message.body == "1"
    assert house.receive("work.fifo", 10) == []
    house.delete("work.fifo", second.receipt_handle)
    assert bodies(house.receive("work.fifo", 10)) == ["2"]


def fail_to_delete(house: QueueHouse, disk: HeldDisk, name: str) -> None:
    """Receives all messages, and cannot write that they are deleted."""
    handles = [each.receipt_handle for each in house.receive(name, 10)]
    disk.fail("write", EIO, path_part=f"{JOURNAL}{name}")

    async def never(*args: object) -> None:
        await asyncio.Event().wait()

    house.queues._serving._recalls._read_again = never
    with pytest.raises(StorageFailed):
        house.delete(name, *handles)


def test_a_message_whose_deletion_was_not_written_is_not_thinned_out(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("work")
    house.send("work", Outgoing("a"), Outgoing("b"))
    fail_to_delete(house, disk, "work")
    partition = house.queue("work").partitions[0]
    assert partition.delivery.is_empty
    assert list(partition.undone_ranges(0, 2)) == [(0, 2)]


def test_a_message_whose_deletion_was_not_written_keeps_its_place_in_the_topic(
    house: QueueHouse, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "RECLAIM_BYTES_MIN", 1)
    house.create("work")
    house.create("audit", **{"duolog:SourceTopic": "work"})
    house.send("work", Outgoing("a"))
    fail_to_delete(house, disk, "audit")
    (received,) = house.receive("work")
    house.delete("work", received.receipt_handle)
    for _ in range(3):
        house.advance(QUIET_MS)
    assert house.queue("work").partitions[0].data.log.start_offset == 0
    house.crash()
    assert bodies(house.receive("audit")) == ["a"]


def test_repeated_receives_and_deletions_are_refused_until_the_state_is_certain(
    house: QueueHouse, disk: HeldDisk
) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    fail_to_delete(house, disk, "work")
    partition = house.queue("work").partitions[0]
    with pytest.raises(StorageFailed):
        house.receive("work")
    with pytest.raises(StorageFailed):
        partition.change(Deleted((0,)))


def test_what_is_sent_while_changes_are_taken_back_is_there(
    house: QueueHouse, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.create("work.fifo", FifoQueue="true")
    house.send("work.fifo", Outgoing("a", group_id="g", deduplication_id="1"))
    sent: list[object] = []

    async def read_and_send(*args: Any) -> None:
        await read_state(*args)
        later = [Outgoing(each, group_id="g", deduplication_id=each) for each in "bc"]
        house.queue("work.fifo").send(later, sent.append)
        await asyncio.sleep(0)

    monkeypatch.setattr(serving, "read_state", read_and_send)
    house.receive("work.fifo", visibility_ms=0)
    disk.fail("write", EIO, path_part=JOURNAL)
    with pytest.raises(StorageFailed):
        house.receive("work.fifo")
    house.settle()
    assert sent
    house.advance(RETRY_MS)
    assert bodies(house.receive("work.fifo", 10)) == ["a", "b", "c"]
    house.crash()
    assert house.queue("work.fifo").counts() == (0, 3, 0)


def test_a_leader_that_may_not_write_reads_nothing_before_it_may(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    house.receive("work", visibility_ms=0)
    readings: list[object] = []

    async def read_and_count(*args: Any) -> None:
        readings.append(args)
        await read_state(*args)

    monkeypatch.setattr(serving, "read_state", read_and_count)
    house.broker.suspend(NotLeader("the cluster may take this node for dead"))
    with pytest.raises(NotLeader):
        house.receive("work")
    house.advance(3 * RETRY_MS)
    assert readings == []
    house.broker.resume()
    house.advance(RETRY_MS)
    assert len(readings) == 1
    house.advance(RETRY_MS)
    assert bodies(house.receive("work")) == ["a"]
