"""Idempotent producers: what is new, what is a duplicate, what is out of order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.core import producers
from duolog.core.producers import ProducerTable
from duolog.model.errors import InvalidProducerEpoch, OutOfOrderSequence
from duolog.model.limits import PRODUCER_BATCHES_REMEMBERED
from duolog.records.header import BatchHeader

SEQUENCE_MAX = 0x7FFF_FFFF


def header(sequence: int, records: int = 1, *, producer: int = 7, epoch: int = 0) -> BatchHeader:
    return BatchHeader(
        base_offset=0,
        batch_length=100,
        leader_epoch=0,
        magic=2,
        crc=0,
        attributes=0,
        last_offset_delta=records - 1,
        base_timestamp=1_000,
        max_timestamp=1_000,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        record_count=records,
    )


def table_with(*batches: BatchHeader) -> ProducerTable:
    table = ProducerTable()
    offset = 100
    for batch in batches:
        assert table.find_duplicate(batch) is None
        table.replay(batch, offset, 1_000)
        offset += batch.last_offset_delta + 1
    return table


def test_the_next_sequence_is_new() -> None:
    table = table_with(header(0, 3))
    assert table.find_duplicate(header(3)) is None


def test_a_batch_sent_again_gets_its_first_offset() -> None:
    table = table_with(header(0, 3), header(3, 2))
    assert table.find_duplicate(header(0, 3)) == 100
    assert table.find_duplicate(header(3, 2)) == 103


def test_a_gap_is_out_of_order() -> None:
    with pytest.raises(OutOfOrderSequence):
        table_with(header(0)).find_duplicate(header(2))


def test_the_same_sequence_with_another_count_is_no_duplicate() -> None:
    with pytest.raises(OutOfOrderSequence):
        table_with(header(0, 3)).find_duplicate(header(0, 2))


def test_only_the_newest_batches_are_recognised() -> None:
    table = table_with(*(header(n) for n in range(PRODUCER_BATCHES_REMEMBERED + 1)))
    assert table.find_duplicate(header(1)) == 101
    with pytest.raises(OutOfOrderSequence):
        table.find_duplicate(header(0))


def test_an_older_epoch_is_fenced() -> None:
    with pytest.raises(InvalidProducerEpoch):
        table_with(header(0, epoch=3)).find_duplicate(header(1, epoch=2))


def test_a_newer_epoch_starts_at_sequence_zero() -> None:
    table = table_with(header(0, epoch=3))
    assert table.find_duplicate(header(0, epoch=4)) is None
    with pytest.raises(OutOfOrderSequence):
        table.find_duplicate(header(5, epoch=4))


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert ProducerTable().find_duplicate(header(42)) is None


def test_sequences_wrap() -> None:
    table = table_with(header(SEQUENCE_MAX, 1))
    assert table.find_duplicate(header(0)) is None


def test_silent_producers_are_forgotten() -> None:
    table = table_with(header(0))
    table.expire(before_ms=1_000)
    assert len(table) == 1
    table.expire(before_ms=1_001)
    assert len(table) == 0


def test_when_there_are_too_many_the_ones_unused_longest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producers, "PRODUCERS_PER_PARTITION_MAX", 10)
    table = ProducerTable()
    for producer in range(10):
        table.replay(header(0, producer=producer), producer, producer)
    table.replay(header(1, producer=0), 10, 10)
    table.replay(header(0, producer=10), 11, 11)
    assert table.get(0) is not None
    assert table.get(1) is None
    assert len(table) == 10


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), max_size=30))
def test_a_snapshot_decides_as_the_table_it_was_taken_of(batches: list[tuple[int, int]]) -> None:
    table = ProducerTable()
    next_sequence = dict.fromkeys(range(1, 4), 0)
    sent = []
    for offset, (producer, records) in enumerate(batches):
        batch = header(next_sequence[producer], records, producer=producer)
        table.replay(batch, offset * 10, offset)
        next_sequence[producer] += records
        sent.append(batch)
    copy = ProducerTable.from_snapshot(table.snapshot())
    for batch in sent:
        assert _decision(copy, batch) == _decision(table, batch)
    assert copy.snapshot() == table.snapshot()


def _decision(table: ProducerTable, batch: BatchHeader) -> object:
    try:
        return table.find_duplicate(batch)
    except OutOfOrderSequence:
        return "out of order"
