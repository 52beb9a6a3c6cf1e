"""What is read for consumers, how often, and how much of it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.broker.workbench import NOW_MS, Workbench

from duolog.broker.queues import message_reader
from duolog.broker.queues.message_reader import MessageReader
from duolog.records.builder import build_batch
from duolog.records.record import Record


class Shelf(Workbench):
    """A partition with batches of numbered records, and a reader of it."""

    def __init__(self, batches: int, records: int) -> None:
        super().__init__(durability="os")
        for batch in range(batches):
            self.append(records, first=batch * records)
        self.reader = MessageReader(self.partition)

    def append(self, records: int, first: int, key: bytes | None = None) -> None:
        values = [b"%d" % number for number in range(first, first + records)]
        data = build_batch([Record(key, value, timestamp=NOW_MS) for value in values])
        self.partition.append_alone(memoryview(data), NOW_MS)

    def take(self, offset: int) -> bytes | None:
        record = self.reader.take(offset)
        return None if record is None else record.value


def test_messages_are_read_in_order_and_out_of_order() -> None:
    shelf = Shelf(batches=20, records=10)
    assert [shelf.take(offset) for offset in range(200)] == [b"%d" % each for each in range(200)]
    for offset in (150, 50, 199, 0):
        assert shelf.take(offset) == b"%d" % offset


def test_a_message_can_be_taken_again() -> None:
    shelf = Shelf(batches=2, records=5)
    assert shelf.take(3) == shelf.take(3) == b"3"


@given(
    batches=st.lists(st.tuples(st.integers(1, 12), st.sampled_from((None, b"key"))), min_size=1),
    asked=st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=30, unique=True)),
    in_order=st.booleans(),
    kept=st.integers(1, 8),
)
def test_whatever_is_taken_together_is_what_it_should_be(
    batches: list[tuple[int, bytes | None]], asked: list[list[int]], in_order: bool, kept: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(message_reader, "KEPT_RECORDS_MAX", kept)
        shelf = Shelf(batches=0, records=0)
        end = 0
        for records, key in batches:
            shelf.append(records, first=end, key=key)
            end += records
        for offsets in asked:
            wanted = sorted(offsets) if in_order else offsets
            found = [each and each.value for each in shelf.reader.take_each(wanted)]
            assert found == [b"%d" % each if each < end else None for each in wanted]
            assert len(shelf.reader._kept) <= kept
            kept_bytes = sum(len(each.value or b"") for each in shelf.reader._kept.values())
            assert shelf.reader._kept_bytes == kept_bytes


def test_what_is_not_there_is_none() -> None:
    shelf = Shelf(batches=1, records=5)
    assert shelf.take(5) is None


def test_a_message_is_found_in_a_batch_of_more_than_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_reader, "KEPT_RECORDS_MAX", 4)
    shelf = Shelf(batches=2, records=50)
    assert [shelf.take(offset) for offset in range(100)] == [b"%d" % each for each in range(100)]
    assert len(shelf.reader._kept) <= 4


def test_what_is_kept_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_reader, "KEPT_BYTES_MAX", 10)
    shelf = Shelf(batches=5, records=20)
    for offset in (90, 10, 50, 30):
        assert shelf.take(offset) == b"%d" % offset
        assert sum(len(each.value or b"") for each in shelf.reader._kept.values()) <= 10
