import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.pyspark_duolog.codec.rows import dicts_of, records

from duolog.records.builder import build_batch
from duolog.records.record import Record
from pyspark_duolog.codec import plain
from pyspark_duolog.codec.decode import OFFSET_MAX, RECORD_TYPES, decode
from pyspark_duolog.codec.plain import Taking, is_taken

COLUMNS = [name for name in RECORD_TYPES if name != "headers"]

compiled = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
pytestmark = pytest.mark.skipif(plain._plain is None, reason="nothing was compiled")


def taking(part_bytes: int = 1 << 20) -> Taking:
    return Taking(COLUMNS, 0, OFFSET_MAX, part_bytes=part_bytes)


@compiled
def test_what_can_be_compiled_is() -> None:
    assert is_taken(COLUMNS)


def test_headers_are_left_to_decode() -> None:
    assert not is_taken(list(RECORD_TYPES))


@given(
    batches=st.lists(records(), min_size=1, max_size=6),
    gap=st.integers(0, 3),
    part_bytes=st.sampled_from([400, 1 << 20]),
)
def test_plain_batches_are_taken_as_they_would_be_decoded(
    batches: list[list[Record]], gap: int, part_bytes: int
) -> None:
    buffer, offset = b"", gap
    for some in batches:
        buffer += bytes(build_batch(some, base_offset=offset))
        offset += len(some) + gap
    rows = taking(part_bytes)
    end = rows.take(buffer, 0, len(buffer))
    taken = dicts_of(part.rows for part in rows.rest())
    assert taken == dicts_of(decode(buffer[:end], COLUMNS))
    if part_bytes > len(buffer):
        assert end == len(buffer)
    else:
        assert end == len(buffer) or rows.is_stuck


@pytest.mark.parametrize("size", [0, 1, 7, 8, 300, 383, 384, 3071, 3072, 3073, 100_000])
def test_a_batch_of_any_length_has_the_checksum_that_it_should_have(size: int) -> None:
    batch = build_batch([Record(value=os.urandom(size))])
    rows = taking()
    assert rows.take(batch, 0, len(batch)) == len(batch)
    batch[-1] ^= 1
    rows = taking()
    assert rows.take(batch, 0, len(batch)) == 0
    assert rows.is_stuck


@pytest.mark.parametrize(
    "other",
    [
        build_batch([Record(value=b"b")], base_offset=1, compression=1),
        build_batch([Record(value=b"b")], base_offset=1, control=True),
        build_batch([], base_offset=1, last_offset_delta=0),
        build_batch([Record(value=b"b" * 5000)], base_offset=1),
        build_batch([Record(value=b"b")], base_offset=0),
        b"\0" * 100,
    ],
    ids=["compressed", "control", "emptied", "larger than a part", "out of order", "none at all"],
)
def test_what_is_not_plain_is_left_where_it_is(other: bytes) -> None:
    first = bytes(build_batch([Record(value=b"a")]))
    rows = taking(part_bytes=4000)
    buffer = first + bytes(other)
    assert rows.take(buffer, 0, len(buffer)) == len(first)
    taken = [part.rows for part in rows.rest()]
    # Where there was no room, another part may have.
    assert rows.take(buffer, rows.bytes_taken, len(buffer)) == len(first)
    assert rows.is_stuck
    assert [row["value"] for row in dicts_of(taken)] == [b"a"]
    assert rows.next_offset == 1


def test_a_batch_that_is_not_all_there_is_waited_for() -> None:
    batch = build_batch([Record(value=b"a" * 100)])
    rows = taking()
    for filled in range(len(batch)):
        assert rows.take(batch, 0, filled) == 0
        assert not rows.is_stuck
    assert rows.take(batch, 0, len(batch)) == len(batch)


def test_parts_say_what_they_are_of() -> None:
    buffer = b"".join(
        bytes(build_batch([Record(value=b"v" * 90)] * 5, base_offset=offset, leader_epoch=offset))
        for offset in range(0, 50, 5)
    )
    rows = taking(part_bytes=1000)
    assert rows.take(buffer, 0, len(buffer)) == len(buffer)
    full = rows.parts()
    last = rows.rest()
    assert [part.base_offset for part in full + last] == [0, 10, 20, 30, 40]
    assert [part.next_offset for part in full + last] == [10, 20, 30, 40, 50]
    assert [part.last_epoch for part in full + last] == [5, 15, 25, 35, 45]
    assert len(last) == 1


def test_absent_keys_and_values_stay_absent() -> None:
    some = [Record(key=b"k"), Record(value=b"v"), Record(key=b"", value=b"")]
    batch = build_batch(some)
    rows = taking()
    rows.take(batch, 0, len(batch))
    taken = dicts_of(part.rows for part in rows.rest())
    assert [(row["key"], row["value"]) for row in taken] == [
        (b"k", None),
        (None, b"v"),
        (b"", b""),
    ]


def test_a_broker_that_stamps_records_gives_them_its_time() -> None:
    batch = build_batch([Record(value=b"a", timestamp=5)], append_time_ms=77)
    rows = taking()
    rows.take(batch, 0, len(batch))
    (part,) = rows.rest()
    assert part.rows["timestamp"].view("int64").to_pylist() == [77_000]
    assert part.rows["timestampType"].to_pylist() == [1]
    assert part.rows.equals(next(decode(batch, COLUMNS)))
