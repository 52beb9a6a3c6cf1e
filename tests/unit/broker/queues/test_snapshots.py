"""Snapshots of the delivery state in a queue's journal: whatever happens, what was told holds."""

from errno import EIO
from random import Random
from typing import Any

import pytest
from tests.fakes.disk import FakeDisk
from tests.fakes.queue_house import QueueHouse, bodies

from duolog.broker.queues import reading_cost, topics, upkeep
from duolog.broker.queues import snapshots as snapshots_module
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.registry import QUIET_MS
from duolog.broker.queues.snapshots import SnapshotWriting, searching, snapshots
from duolog.core.queues.message import Outgoing
from duolog.records.deduplication_image import SavedKeys, encode_saved_keys
from duolog.records.delivery_image import decode_image
from duolog.records.header import HEADER_BYTES

MESSAGES = 12
HIDDEN_MS = 3_600_000
JOURNAL_FILE = "__queue.work-0/00000000000000000000.log"


def partition_of(house: QueueHouse) -> QueuePartition:
    return house.queue("work").partitions[0]


def journal_of(house: QueueHouse) -> Journal:
    journal = partition_of(house).journal
    assert journal is not None
    return journal


def fill(house: QueueHouse) -> dict[str, Any]:
    """A third is deleted, a third is in flight. Returns what is in flight, by body."""
    house.send("work", *(Outgoing(str(each)) for each in range(MESSAGES)))
    held = {}
    for _ in range(2 * MESSAGES // 3):
        (received,) = house.receive("work", visibility_ms=HIDDEN_MS)
        held[received.message.body] = received
    for body in sorted(held, key=int)[: MESSAGES // 3]:
        assert house.delete("work", held.pop(body).receipt_handle) == [None]
    return held


def check(house: QueueHouse, held: dict[str, Any]) -> None:
    third = MESSAGES // 3
    assert house.queue("work").counts() == (third, third, 0)
    for received in held.values():
        assert house.delete("work", received.receipt_handle) == [None]
    rest = bodies(house.receive("work", MESSAGES))
    assert rest == [str(each) for each in range(2 * third, MESSAGES)]


def snapshot_now(house: QueueHouse, pieces: int = 1_000) -> SnapshotWriting:
    """All of it, or only so many pieces."""

    async def write() -> SnapshotWriting:
        partition, journal = partition_of(house), journal_of(house)
        journal.flush()
        writing = SnapshotWriting(journal, partition.delivery.snapshot())
        for _ in range(pieces):
            if not writing.is_complete:
                writing.write_piece()
        return writing

    writing = house.run(write())
    house.settle()
    return writing


def test_a_restart_finds_a_snapshot_in_the_journal_and_nothing_to_replay(
    house: QueueHouse,
) -> None:
    house.create("work")
    held = fill(house)
    house.restart()
    journal = journal_of(house)
    assert journal.snapshot_offset != -1
    assert journal.bytes_written == 0
    assert [
        name for name in house.disk.list_names("__queue.work-0") if name.endswith("delivery")
    ] == []
    check(house, held)


@pytest.mark.parametrize("accident", ["kill", "crash"])
def test_a_snapshot_that_was_not_completed_is_as_if_it_had_not_been_begun(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch, accident: str
) -> None:
    monkeypatch.setattr(snapshots_module, "PIECE_BYTES", 40)
    house.create("work")
    held = fill(house)
    pieces = 0
    while True:
        writing = snapshot_now(house, pieces)
        getattr(house, accident)()
        found = [each.offset for each in snapshots(journal_of(house))]
        assert bool(found) is writing.is_complete
        third = MESSAGES // 3
        assert house.queue("work").counts() == (third, third, 0)
        if writing.is_complete:
            break
        pieces += 1
    assert pieces > 3
    check(house, held)


def test_changes_between_the_pieces_of_a_snapshot_come_after_it(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots_module, "PIECE_BYTES", 40)
    house.create("work")
    held = fill(house)
    house.send("work", Outgoing("more"))

    async def write() -> SnapshotWriting:
        partition, journal = partition_of(house), journal_of(house)
        return SnapshotWriting(journal, partition.delivery.snapshot())

    writing = house.run(write())
    taken = list(held)
    while not writing.is_complete:
        house.run(_piece(writing))
        if taken:
            house.delete("work", held.pop(taken.pop()).receipt_handle)
    assert not held
    house.crash()
    assert journal_of(house).snapshot_offset == writing.begun_offset
    assert house.queue("work").counts() == (MESSAGES // 3 + 1, 0, 0)


async def _piece(writing: SnapshotWriting) -> None:
    writing.write_piece()


def test_whoever_waits_for_a_change_is_not_told_of_a_piece(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    (received,) = house.receive("work")
    answers: list[Any] = []

    async def delete_and_snapshot() -> tuple[int, int]:
        house.queue("work").delete([received.receipt_handle], answers.append)
        journal = journal_of(house)
        wanted = journal.end_offset
        writing = SnapshotWriting(journal, partition_of(house).delivery.snapshot())
        writing.write_all()
        return wanted, writing.begun_offset

    wanted, begun = house.run(delete_and_snapshot())
    assert begun == wanted


@pytest.mark.parametrize("damaged", [1, 2, 3])
def test_a_damaged_snapshot_is_replaced_by_the_one_before_or_by_the_changes(
    house: QueueHouse, damaged: int
) -> None:
    house.create("work")
    held = fill(house)
    writings = []
    for _ in range(3):
        writing = snapshot_now(house)
        writing.rely()
        writings.append(writing)
    for writing in writings[-damaged:]:
        flip(house.disk, journal_of(house), writing.begun_offset)
    house.kill()
    offsets = [each.begun_offset for each in writings]
    expected = offsets[-damaged - 1] if damaged < 3 else -1
    assert journal_of(house).snapshot_offset == expected
    check(house, held)


def flip(disk: FakeDisk, journal: Journal, offset: int) -> None:
    found = journal.partition.log.read(offset, 1, journal.partition.log.end_offset)
    assert found is not None
    disk.flip_bit(JOURNAL_FILE, found.position + HEADER_BYTES + 60)


def test_the_journal_forgets_what_lies_before_the_last_two_snapshots(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SNAPSHOT_AFTER_NS", 300_000)
    monkeypatch.setattr(topics, "JOURNAL_SEGMENT_BYTES", 16_384)
    house.create("work")
    kept = []
    for _ in range(6):
        for _ in range(60):
            house.send("work", Outgoing("a"))
            (received,) = house.receive("work")
            house.delete("work", received.receipt_handle)
        for _ in range(3):
            house.advance(QUIET_MS)
        log = journal_of(house).partition.log
        kept.append(log.end_offset - log.start_offset)
    offsets = [each.offset for each in snapshots(journal_of(house))]
    assert len(offsets) == 2
    assert journal_of(house).partition.log.start_offset == min(offsets)
    assert kept[-1] == kept[-2]
    house.crash()
    assert house.queue("work").counts() == (0, 0, 0)


def test_the_journal_is_kept_as_long_as_deleted_messages_are(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SNAPSHOT_AFTER_NS", 300_000)
    monkeypatch.setattr(topics, "JOURNAL_SEGMENT_BYTES", 16_384)
    house.create("work", **{"duolog:RetainDeleted": "3600"})
    starts = []
    for _ in range(8):
        for _ in range(60):
            house.send("work", Outgoing("a"))
            (received,) = house.receive("work")
            house.delete("work", received.receipt_handle)
        for _ in range(15):
            house.advance(QUIET_MS)
        starts.append(journal_of(house).partition.log.start_offset)
    assert starts[:4] == [0, 0, 0, 0]
    assert starts[-1] > 0


def os_house(house: QueueHouse) -> None:
    house.create("work", **{"duolog:Durability": "os"})


def sync_journal(house: QueueHouse) -> None:
    async def sync() -> None:
        house.broker.flusher.request(journal_of(house).partition)
        await house.broker.flusher.drain()

    house.run(sync())


@pytest.mark.parametrize("with_snapshot", [False, True], ids=["changes", "snapshot"])
def test_what_became_of_lost_messages_is_not_what_becomes_of_those_at_their_offsets(
    house: QueueHouse, with_snapshot: bool
) -> None:
    os_house(house)
    house.send("work", *(Outgoing(f"old {each}") for each in range(5)))
    taken = house.receive("work", 10)
    house.delete("work", *(each.receipt_handle for each in taken[:3]))
    if with_snapshot:
        snapshot_now(house)
    sync_journal(house)
    house.crash()
    assert partition_of(house).data.log.end_offset == 0
    assert house.queue("work").counts() == (0, 0, 0)
    house.send("work", *(Outgoing(f"new {each}") for each in range(5)))
    # Of the new messages nothing was lost, of the journal everything that was not durable.

    async def sync_messages() -> None:
        house.broker.flusher.request(partition_of(house).data)
        await house.broker.flusher.drain()

    house.run(sync_messages())
    house.crash()
    assert house.queue("work").counts() == (5, 0, 0)
    for received in taken:
        house.delete("work", received.receipt_handle)
    assert sorted(bodies(house.receive("work", 10))) == [f"new {each}" for each in range(5)]


@pytest.mark.parametrize("seed", range(12))
def test_power_cuts_in_os_mode_lose_no_message_that_is_durable(
    house: QueueHouse, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots_module, "PIECE_BYTES", 64)
    random = Random(seed)
    os_house(house)
    house.receive("work")
    number = 0
    durable: dict[str, bool] = {}
    for _ in range(8):
        for _ in range(random.randrange(1, 6)):
            number += 1
            house.send("work", Outgoing(str(number)))
            durable[str(number)] = False
            found = house.receive("work", 1, visibility_ms=1) if random.random() < 0.5 else []
            if found and random.random() < 0.5:
                house.delete("work", found[0].receipt_handle)
                durable.pop(found[0].message.body, None)
        if random.random() < 0.5:
            snapshot_now(house, random.randrange(5))
        if random.random() < 0.5:
            sync_journal(house)
        if random.random() < 0.5:
            house.run(_sync(house))
            durable = dict.fromkeys(durable, True)
        house.crash(random)
        house.advance(10)
        durable = {body: kept for body, kept in durable.items() if kept}
    present = set(bodies(house.receive("work", 10)))
    while more := bodies(house.receive("work", 10)):
        present |= set(more)
    assert set(durable) <= present


async def _sync(house: QueueHouse) -> None:
    house.broker.flusher.request(partition_of(house).data)
    await house.broker.flusher.drain()


FIFO = {"FifoQueue": "true"}
ONCE = Outgoing("once", group_id="g", deduplication_id="1")


def handle_once(house: QueueHouse, **attributes: str) -> None:
    """A message was sent, received and deleted; its repetition must be recognised."""
    house.create("work.fifo", **FIFO, **attributes)
    house.send("work.fifo", ONCE)
    (received,) = house.receive("work.fifo")
    house.delete("work.fifo", received.receipt_handle)


def is_repetition(house: QueueHouse) -> bool:
    house.send("work.fifo", ONCE)
    return house.queue("work.fifo").counts() == (0, 0, 0)


def test_deduplication_is_in_the_snapshot(house: QueueHouse) -> None:
    handle_once(house)
    house.restart()
    partition = house.queue("work.fifo").partitions[0]
    assert partition.enqueued_since_snapshot == 0
    assert len(partition.deduplication) == 1
    assert is_repetition(house)


@pytest.mark.parametrize("how", ["of an unknown version", "damaged", "of the last release"])
def test_deduplication_that_a_snapshot_does_not_tell_is_read_from_the_messages(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def unusable(saved: SavedKeys) -> bytes:
        return b"\x07" if how == "of an unknown version" else encode_saved_keys(saved)[:-1]

    monkeypatch.setattr(snapshots_module, "encode_saved_keys", unusable)
    if how == "of the last release":
        monkeypatch.setattr(SnapshotWriting, "of", lambda partition: image_only(partition))
    handle_once(house)
    house.restart()
    partition = house.queue("work.fifo").partitions[0]
    assert partition.journal is not None
    assert partition.journal.snapshot_offset != -1
    assert partition.enqueued_since_snapshot == 1
    assert is_repetition(house)


def image_only(partition: QueuePartition) -> SnapshotWriting:
    assert partition.journal is not None
    return SnapshotWriting(partition.journal, partition.delivery.snapshot())


def test_an_image_is_read_by_a_node_that_knows_no_deduplication_keys(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots_module, "PIECE_BYTES", 40)
    handle_once(house)
    house.restart()
    journal = house.queue("work.fifo").partitions[0].journal
    assert journal is not None
    (found, *_) = filter(None, searching(journal, with_keys=False))
    assert decode_image(found.image).fifo
    pieces = [each.head for each in journal.entries(found.offset) if each.head.pieces]
    assert [each.piece for each in pieces] == list(range(pieces[0].pieces + 2))


def test_deduplication_by_another_scope_is_read_from_the_messages(house: QueueHouse) -> None:
    handle_once(house)
    house.run(house.queues.set_attributes("work.fifo", {"DeduplicationScope": "messageGroup"}))
    house.settle()
    assert is_repetition(house)
    house.send("work.fifo", Outgoing("other", group_id="h", deduplication_id="1"))
    assert house.queue("work.fifo").counts() == (1, 0, 0)


def test_a_snapshot_is_written_when_it_spares_the_next_leader_enough(house: QueueHouse) -> None:
    house.create("work")
    fill(house)
    journal, partition = journal_of(house), partition_of(house)
    house.advance(QUIET_MS)
    assert journal.snapshot_offset == -1
    partition.enqueued_since_snapshot = upkeep.SNAPSHOT_AFTER_NS // reading_cost.MESSAGE_NS
    for _ in range(3):
        house.advance(QUIET_MS)
    assert journal.snapshot_offset > 0
    assert reading_cost.tail_ns(partition) < upkeep.SNAPSHOT_WORTH_NS


def test_a_snapshot_that_failed_is_still_due(house: QueueHouse, disk: FakeDisk) -> None:
    house.create("work")
    fill(house)
    before = reading_cost.tail_ns(partition_of(house))
    disk.fail("write", EIO, path_part="__queue")

    async def save() -> None:
        house.queues._upkeep.save(partition_of(house))

    house.run(save())
    assert reading_cost.tail_ns(partition_of(house)) == before


def test_an_opening_that_took_long_is_spared_the_next_leader(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.create("work")
    held = fill(house)
    for received in held.values():
        house.delete("work", received.receipt_handle)
    house.kill()
    assert journal_of(house).snapshot_offset == -1
    house.run(house._abandon())
    monkeypatch.setattr(upkeep, "SNAPSHOT_AFTER_NS", 10_000)
    house.start()
    house.settle()
    for _ in range(2):
        house.advance(upkeep.UPKEEP_MS)
    assert journal_of(house).snapshot_offset > 0
