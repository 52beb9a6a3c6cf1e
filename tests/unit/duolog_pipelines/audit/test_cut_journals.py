"""A journal that was cut, and its messages, are the same to an audit as to the queue itself."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.fakes.queue_house import QueueHouse

from duolog.broker.queues import snapshots, topics, upkeep
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.registry import QUIET_MS
from duolog.core.queues.message import Outgoing
from duolog.records.changes import decode_changes
from duolog.records.journal_head import encode_head
from duolog_pipelines.audit.events import ENDED, TRIMMED, events_of
from duolog_pipelines.audit.opening import WHOLE, JournalRecord, opening_of


@pytest.fixture
def house(tmp_path: Path) -> Iterator[QueueHouse]:
    made = QueueHouse(str(tmp_path / "meta.sqlite"))
    yield made
    made.close()


def audited(journal: Journal, end_offset: int) -> set[int]:
    """The messages that are not done, by what is left of the journal."""
    start_offset = journal.partition.log.start_offset
    entries = list(journal.entries(start_offset))
    records = [
        JournalRecord(each.offset, 0, encode_head(each.head), each.content) for each in entries
    ]
    opening = opening_of(records) if start_offset else WHOLE
    assert opening is not None
    left = {at for first, end in opening.ranges for at in range(first, end)}
    left |= set(range(opening.end_offset, end_offset))
    for entry in entries:
        if entry.head.pieces or entry.offset < opening.journal_offset:
            continue
        for change in decode_changes(entry.content):
            for event in events_of(change, 0):
                if event.kind in (ENDED, TRIMMED):
                    left -= set(range(event.offset, event.next_offset))
    return left


@pytest.mark.parametrize("fifo", [False, True])
def test_an_audit_begins_with_what_was_not_done(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch, fifo: bool
) -> None:
    monkeypatch.setattr(upkeep, "SNAPSHOT_AFTER_NS", 300_000)
    monkeypatch.setattr(topics, "JOURNAL_SEGMENT_BYTES", 16_384)
    monkeypatch.setattr(snapshots, "PIECE_BYTES", 200)
    name = "work.fifo" if fifo else "work"
    fifo_attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    house.create(name, **(fifo_attributes if fifo else {}))
    chance = Random(3)
    for turn in range(500):
        group = str(turn % 7) if fifo else None
        delay = 900 if not fifo and turn % 11 == 0 else None
        house.send(name, Outgoing(str(turn), group_id=group, delay_seconds=delay))
        for received in house.receive(name, visibility_ms=chance.choice([1_000, 30_000])):
            if chance.random() < 0.8:
                house.delete(name, received.receipt_handle)
        if turn % 25 == 0:
            house.advance(QUIET_MS)
            house.advance(QUIET_MS)
        if turn == 450:
            house.run(house.queues.purge(name))
    (partition,) = house.queue(name).partitions
    journal = partition.journal
    assert journal is not None
    assert journal.partition.log.start_offset > 0
    end_offset = partition.delivery.end_offset
    undone = {
        at for first, end in partition.undone_ranges(0, end_offset) for at in range(first, end)
    }
    assert undone
    assert audited(journal, end_offset) == undone
