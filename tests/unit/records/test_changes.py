import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.records.changes import (
    Cause,
    Change,
    Deleted,
    Delivered,
    Replayed,
    Trimmed,
    VisibilityChanged,
    decode_changes,
    encode_change,
)

numbers = st.integers(0, (1 << 63) - 1)
causes = st.sampled_from(Cause)
offsets = st.lists(numbers, max_size=12).map(tuple)
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(Delivered, offsets, numbers, numbers, st.binary(max_size=128)),
    st.builds(Deleted, offsets, causes),
    st.builds(VisibilityChanged, numbers, numbers),
    st.builds(Trimmed, numbers, causes),
    st.builds(
        Replayed,
        numbers,
        numbers,
        numbers,
        st.lists(st.tuples(st.binary(max_size=128), offsets), max_size=4).map(tuple),
    ),
)


@given(st.lists(changes, max_size=5))
@settings(deadline=None)
def test_changes_written_one_after_the_other_are_read_back(written: list[Change]) -> None:
    assert list(decode_changes(b"".join(map(encode_change, written)))) == written


@given(changes, st.data())
@settings(deadline=None)
def test_a_change_that_is_cut_short_is_refused(change: Change, data: st.DataObject) -> None:
    whole = encode_change(change)
    cut = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(ValueError):
        decode_changes(whole[:cut])


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_garbage_is_refused_or_read_but_breaks_nothing(garbage: bytes) -> None:
    try:
        read = list(decode_changes(garbage))
    except ValueError:
        return
    assert b"".join(map(encode_change, read)) == garbage


def test_nothing_is_given_out_of_what_is_damaged_further_on() -> None:
    with pytest.raises(ValueError, match="kind"):
        decode_changes(encode_change(Trimmed(5)) + b"\xff")


@pytest.mark.parametrize("change", [Delivered((1, 2), 3, 4), Deleted((1, 2))])
def test_a_count_is_not_believed_without_the_bytes_for_it(change: Change) -> None:
    whole = bytearray(encode_change(change))
    at = 3 if isinstance(change, Delivered) else 2
    whole[at : at + 4] = b"\xff\xff\xff\xff"
    tracemalloc.start()
    with pytest.raises(ValueError, match="announced"):
        decode_changes(bytes(whole))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20


def test_a_delivery_of_one_message_is_compact() -> None:
    assert len(encode_change(Delivered((5,), 1, 2))) <= 32
    assert len(encode_change(Deleted((5,)))) <= 16
