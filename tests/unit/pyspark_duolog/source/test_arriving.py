from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.pyspark_duolog.codec.rows import dicts_of, records

from duolog.model.errors import CorruptBatch
from duolog.records.builder import build_batch
from duolog.records.checksum import seal
from duolog.records.header import HEADER_BYTES
from duolog.records.record import Record
from pyspark_duolog.codec import plain
from pyspark_duolog.codec.decode import OFFSET_MAX, RECORD_TYPES, decode
from pyspark_duolog.source.arriving import Arriving

COLUMNS = [name for name in RECORD_TYPES if name != "headers"]
IS_COMPILED = [True, False]

Rows = list[dict[str, object]]


def arrived(
    buffer: bytes, piece: int, first_offset: int, end_offset: int, columns: Sequence[str]
) -> Rows:
    arriving = Arriving(columns, first_offset, end_offset)
    view = memoryview(buffer)
    for filled in range(0, len(buffer), piece):
        arriving.came(view, filled)
    found = arriving.found(view)
    return dicts_of(arriving.rows(view, found))


def decoded(buffer: bytes, first_offset: int, end_offset: int, columns: Sequence[str]) -> Rows:
    batches = decode(buffer, columns, first_offset=first_offset, end_offset=end_offset)
    return dicts_of(batches)


@pytest.mark.parametrize("is_compiled", IS_COMPILED)
@given(
    batches=st.lists(records(), min_size=1, max_size=6),
    compressions=st.lists(st.sampled_from([0, 0, 1]), min_size=1, max_size=4),
    piece=st.integers(1, 700),
    columns=st.sampled_from([COLUMNS, list(RECORD_TYPES), ["value"], ["offset", "key"]]),
    data=st.data(),
)
def test_what_arrives_piece_by_piece_is_what_is_decoded_of_it_all(
    is_compiled: bool,
    batches: list[list[Record]],
    compressions: list[int],
    piece: int,
    columns: list[str],
    data: st.DataObject,
) -> None:
    buffer, offset = b"", 0
    for index, some in enumerate(batches):
        compression = compressions[index % len(compressions)]
        buffer += bytes(build_batch(some, compression=compression, base_offset=offset))
        offset += len(some) + 1
    first_offset = data.draw(st.integers(0, offset))
    end_offset = data.draw(st.integers(first_offset, offset + 1))
    with pytest.MonkeyPatch.context() as patch:
        if not is_compiled:
            patch.setattr(plain, "_plain", None)
        rows = arrived(buffer, piece, first_offset, end_offset, columns)
    assert rows == decoded(buffer, first_offset, end_offset, columns)


@given(some=records(), data=st.data())
def test_damage_is_refused_where_it_would_be_all_at_once(
    some: list[Record], data: st.DataObject
) -> None:
    batch = build_batch(some)
    place = data.draw(st.integers(HEADER_BYTES - 4, len(batch) - 1))
    batch[place] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        seal(batch)
    buffer = bytes(batch) + bytes(build_batch(some, base_offset=100))
    try:
        expected: Rows | None = decoded(buffer, 0, OFFSET_MAX, COLUMNS)
    except CorruptBatch:
        expected = None
    if expected is None:
        with pytest.raises(CorruptBatch):
            arrived(buffer, 100, 0, OFFSET_MAX, COLUMNS)
    else:
        assert arrived(buffer, 100, 0, OFFSET_MAX, COLUMNS) == expected
