"""What is read for consumers, how often, and how much of it is kept."""

import pytest
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
            values = [b"%d" % (batch * records + each) for each in range(records)]
            data = build_batch([Record(value=value, timestamp=NOW_MS) for value in values])
            self.partition.append_alone(memoryview(data), NOW_MS)
        self.reader = MessageReader(self.partition)

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
