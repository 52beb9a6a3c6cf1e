"""Where an audit begins when the journal was cut."""

import pytest

from duolog.core.queues.delivery import Delivery
from duolog.core.queues.rules import DeliveryRules
from duolog.records.changes import Deleted, Delivered, encode_change
from duolog.records.journal_head import JournalHead, encode_head
from duolog_pipelines.audit.opening import JournalRecord, Opening, opening_of

RULES = DeliveryRules(fifo=False, retention_ms=10**9, in_flight_max=100, receive_count_max=None)


def snapshot() -> bytes:
    """Of ten messages: two are done, one is in flight, two are delayed, five are ready."""
    delivery = Delivery(RULES)
    delivery.enqueue_range(0, 8, 1_000)
    delivery.enqueue_range(8, 10, 1_000, due_ms=99_000)
    delivery.apply(Delivered((0, 1, 2), 2_000, 50_000))
    delivery.apply(Deleted((0, 2)))
    return delivery.snapshot()


def piece(offset: int, begun: int, number: int, count: int, content: bytes) -> JournalRecord:
    head = JournalHead(0, 10, -1, begun, number, count)
    return JournalRecord(offset, 7_000 + offset, encode_head(head), content)


def change(offset: int) -> JournalRecord:
    head = encode_head(JournalHead(0, 10, -1, -1))
    return JournalRecord(offset, 7_000 + offset, head, encode_change(Deleted((5,))))


def undone(opening: Opening | None) -> list[int]:
    assert opening is not None
    return sorted(at for first, end in opening.ranges for at in range(first, end))


def test_it_begins_with_what_the_snapshot_leaves() -> None:
    image = snapshot()
    half = len(image) // 2
    records = [piece(40, 40, 0, 2, image[:half]), change(41), piece(42, 40, 1, 2, image[half:])]
    found = opening_of(records)
    assert undone(found) == [1, 3, 4, 5, 6, 7, 8, 9]
    assert found is not None
    assert (found.journal_offset, found.end_offset, found.since_ms) == (40, 10, 7_040)


def test_a_snapshot_that_is_cut_is_passed_over() -> None:
    image = snapshot()
    records = [piece(41, 40, 1, 2, b"rest"), change(42), piece(43, 43, 0, 1, image)]
    found = opening_of(records)
    assert found is not None
    assert found.journal_offset == 43
    assert opening_of(records[:2]) is None


def test_a_damaged_snapshot_is_refused() -> None:
    with pytest.raises(ValueError, match="damaged"):
        opening_of([piece(0, 0, 0, 1, snapshot()[:-1] + b"\xff")])
