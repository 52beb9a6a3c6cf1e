from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial.writers import write_unsigned_varint

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.primitives import (
    TAGS_PER_STRUCT_MAX,
    TEXTS_REMEMBERED_MAX,
    _texts,
    check_count,
    read_tags,
    read_text,
    read_uvarint,
    uvarint,
)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_variable_integer_is_written_and_read_as_kio_does(value: int) -> None:
    written = BytesIO()
    write_unsigned_varint(written, value)  # type: ignore[arg-type]
    assert uvarint(value) == written.getvalue()
    assert read_uvarint(memoryview(uvarint(value)), 0) == (value, len(uvarint(value)))


def test_a_variable_integer_of_six_bytes_is_malformed() -> None:
    with pytest.raises(MalformedRequest):
        read_uvarint(memoryview(b"\xff" * 5 + b"\x01"), 0)


def test_remembered_texts_are_bounded() -> None:
    for number in range(2 * TEXTS_REMEMBERED_MAX + 10):
        name = f"name-{number}".encode()
        assert read_text(memoryview(name), 0, len(name), len(name)) == name.decode()
        assert len(_texts) <= TEXTS_REMEMBERED_MAX


def test_a_long_text_is_read_and_not_remembered() -> None:
    name = b"x" * 10_000
    assert read_text(memoryview(name), 0, len(name), len(name)) == name.decode()
    assert name not in _texts


@pytest.mark.parametrize(
    ("count", "item_bytes_min", "bytes_left", "items"),
    [
        (-1, 1, 10, 0),
        (11, 1, 10, 0),
        (6, 2, 11, 0),
        (2**31 - 1, 1, 10**8, 0),
        (1, 1, 10, ARRAY_ITEMS_MAX + 1),
        (ARRAY_ITEMS_MAX + 1, 1, 10**9, 0),
    ],
)
def test_an_impossible_count_is_malformed(
    count: int, item_bytes_min: int, bytes_left: int, items: int
) -> None:
    with pytest.raises(MalformedRequest):
        check_count(count, item_bytes_min, bytes_left, items)


def test_tagged_fields_are_read_by_tag_and_their_number_is_bounded() -> None:
    fields = b"\x05\x03abc\x90\x4e\x00"
    tags, position = read_tags(memoryview(b"\x02" + fields), 0, 1 + len(fields))
    assert {tag: bytes(data) for tag, data in tags.items()} == {5: b"abc", 10_000: b""}
    assert position == 1 + len(fields)
    flood = bytes((TAGS_PER_STRUCT_MAX + 1,)) + b"\x05\x00" * (TAGS_PER_STRUCT_MAX + 1)
    with pytest.raises(MalformedRequest):
        read_tags(memoryview(flood), 0, len(flood))
