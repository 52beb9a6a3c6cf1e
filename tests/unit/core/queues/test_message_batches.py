"""How the messages of one turn become batches."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.core.queues.message_batches import build_messages, cut_into_batches
from duolog.core.queues.plain_batch import RECORDS_MAX
from duolog.records.builder import build_batch, encoded_size
from duolog.records.patch import stamp_append_time
from duolog.records.record import Record

NOW_MS = 1_700_000_000_000
RECORDS = st.lists(
    st.one_of(
        st.binary(max_size=300),
        st.builds(lambda value: Record(b"key", value, (), NOW_MS), st.binary(max_size=300)),
    ),
    max_size=40,
)


def as_records(records: list[Record | bytes]) -> list[Record]:
    return [Record(None, each, (), NOW_MS) if isinstance(each, bytes) else each for each in records]


@given(RECORDS.filter(bool), st.booleans())
@settings(deadline=None, max_examples=50)
def test_plain_and_other_messages_are_built_as_their_records(
    records: list[Record | bytes], is_stamped: bool
) -> None:
    usual = build_batch(as_records(records))
    if is_stamped:
        stamp_append_time(usual, NOW_MS)
    assert build_messages(records, NOW_MS, is_stamped=is_stamped) == usual


def test_more_plain_messages_than_one_plain_batch_has_are_built_too() -> None:
    many: list[Record | bytes] = [b"v"] * (RECORDS_MAX + 1)
    assert build_messages(many, NOW_MS, is_stamped=False) == build_batch(as_records(many))


@given(RECORDS, st.integers(1, 2_000))
@settings(deadline=None, max_examples=100)
def test_no_batch_is_too_large_unless_a_message_is(
    records: list[Record | bytes], bytes_max: int
) -> None:
    pieces = list(cut_into_batches(records, bytes_max))
    assert [place for first, last in pieces for place in range(first, last)] == list(
        range(len(records))
    )
    sizes = [encoded_size(each) for each in as_records(records)]
    for first, last in pieces:
        assert last - first == 1 or sum(sizes[first:last]) <= bytes_max
    for (first, _), (next_first, _) in pairwise(pieces):
        assert sum(sizes[first : next_first + 1]) > bytes_max, "a batch takes what it can"
