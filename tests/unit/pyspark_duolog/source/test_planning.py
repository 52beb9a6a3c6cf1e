import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.client.offsets import Bounds, TopicPartition
from duolog.wire.kafka.special_offsets import EARLIEST, LATEST
from pyspark_duolog.errors import DataLost, InvalidOffsets
from pyspark_duolog.source.offsets import Offsets, TopicOffsets
from pyspark_duolog.source.planning import (
    Range,
    Seen,
    TopicState,
    advanced,
    at_bound,
    backlog,
    capped,
    continued,
    only,
    ranges_between,
    shared_out,
    split,
    still_there,
    within_bytes,
)


def seen(*bounds: tuple[int, int], id: str = "x", name: str = "orders") -> Seen:
    return {name: TopicState(id, {index: Bounds(*each) for index, each in enumerate(bounds)})}


def read_to(*offsets: int, id: str = "x") -> Offsets:
    return {"orders": TopicOffsets(id, dict(enumerate(offsets)), {})}


def test_a_query_starts_where_it_is_told() -> None:
    there = seen((5, 9), (0, 3))
    assert at_bound(there, EARLIEST) == read_to(5, 0)
    assert at_bound(there, LATEST) == read_to(9, 3)
    assert at_bound(there, {"orders": {0: 7, 1: LATEST}}) == read_to(7, 3)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"orders": {0: 1}}, "no offset is given for partition 1 of topic 'orders'"),
        ({"orders": {0: 1, 1: 1, 2: 1}}, "partition 2 of topic 'orders', which is not read"),
        ({"orders": {0: 1, 1: 1}, "bills": {0: 1}}, "partition 0 of topic 'bills'"),
    ],
)
def test_offsets_are_given_for_exactly_the_partitions(
    wanted: dict[str, dict[int, int]], said: str
) -> None:
    with pytest.raises(InvalidOffsets, match=said):
        at_bound(seen((0, 9), (0, 9)), wanted)


def test_what_is_new_is_read_from_its_start_and_that_is_written_down() -> None:
    there = seen((0, 9), (4, 6)) | seen((2, 3), name="bills", id="y")
    begun = continued(read_to(7), there, fail_on_data_loss=True)
    assert begun["orders"] == TopicOffsets("x", {0: 7, 1: 4}, {1: 4})
    assert begun["bills"] == TopicOffsets("y", {0: 2}, {0: 2})


LOSSES = [
    (seen((3, 9)), "at offset 2 was removed before the query had read it"),
    (seen((0, 1)), "partition 0 of topic 'orders' at offset 2 lies beyond the partition's end"),
    (seen((0, 9), id="y"), "recreated: the query had read partition 0 up to offset 2"),
    ({}, "topic 'orders' was deleted"),
    (seen(), "partition 0 of topic 'orders' at offset 2 is no longer there"),
]


@pytest.mark.parametrize(("there", "said"), LOSSES)
def test_a_loss_is_named(there: Seen, said: str) -> None:
    with pytest.raises(DataLost, match=said):
        continued(read_to(2), there, fail_on_data_loss=True)


@pytest.mark.parametrize(("there", "said"), LOSSES)
def test_a_loss_that_may_be_goes_on_with_what_is_there(there: Seen, said: str) -> None:
    begun = continued(read_to(2), there, fail_on_data_loss=False)
    assert {name: state.partitions.keys() for name, state in there.items()} == {
        name: topic.next.keys() for name, topic in begun.items()
    }
    for name, topic in begun.items():
        for partition, offset in topic.next.items():
            bounds = there[name].partitions[partition]
            assert offset == topic.began[partition] == bounds.start_offset


WAITING = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3)), st.integers(0, 1000), max_size=6
)


@given(waiting=WAITING, total_max=st.integers(1, 3000))
def test_a_maximum_is_shared_out_to_the_last_offset(
    waiting: dict[TopicPartition, int], total_max: int
) -> None:
    shares = shared_out(waiting, total_max)
    assert sum(shares.values()) == min(total_max, sum(waiting.values()))
    assert shares.keys() == waiting.keys()
    assert all(0 <= shares[key] <= waiting[key] for key in waiting)


@given(waiting=WAITING, bytes_max=st.integers(1, 3000), size=st.floats(0.1, 50))
def test_a_maximum_of_bytes_always_leaves_something_to_read(
    waiting: dict[TopicPartition, int], bytes_max: int, size: float
) -> None:
    taken = within_bytes(waiting, dict.fromkeys(waiting, size), bytes_max)
    assert all(min(1, waiting[key]) <= taken[key] <= waiting[key] for key in waiting)
    assert sum(taken.values()) * size <= bytes_max + len(waiting) * size


RANGES = st.lists(
    st.builds(
        lambda partition, first, count: Range("t", "x", partition, first, first + count),
        st.integers(0, 9),
        st.integers(0, 100),
        st.integers(1, 100),
    ),
    min_size=1,
    max_size=5,
)


@given(ranges=RANGES, count_min=st.none() | st.integers(1, 40))
def test_a_split_has_the_same_offsets_in_enough_ranges(
    ranges: list[Range], count_min: int | None
) -> None:
    pieces = split(ranges, count_min)
    assert offsets_in(pieces) == offsets_in(ranges)
    assert len(pieces) >= min(count_min or 0, len(offsets_in(ranges)))


def offsets_in(ranges: list[Range]) -> list[tuple[int, int]]:
    return [
        (each.partition, offset)
        for each in ranges
        for offset in range(each.first_offset, each.end_offset)
    ]


def test_a_micro_batch_is_the_same_when_it_is_planned_again() -> None:
    there = seen((0, 9), (4, 6))
    start = read_to(7)
    begun = continued(start, there, fail_on_data_loss=True)
    assert backlog(begun, there) == {("orders", 0): 2, ("orders", 1): 2}
    end = advanced(begun, {("orders", 0): 9, ("orders", 1): 6})
    expected = [Range("orders", "x", 0, 7, 9), Range("orders", "x", 1, 4, 6)]
    assert ranges_between(start, end) == expected


@pytest.mark.parametrize(("start", "end"), [((5,), (3,)), ((), (3,))])
def test_a_checkpoint_that_goes_backwards_or_begins_nowhere_is_refused(
    start: tuple[int, ...], end: tuple[int, ...]
) -> None:
    with pytest.raises(InvalidOffsets, match="partition 0 of topic 'orders'"):
        ranges_between(read_to(*start), read_to(*end))


def test_a_planned_range_is_compared_with_what_is_there() -> None:
    planned = [Range("orders", "x", 0, 2, 8)]
    assert still_there(planned, seen((0, 9)), fail_on_data_loss=True) == planned
    for there in (seen((3, 9)), seen((0, 7)), seen((0, 9), id="y"), {}):
        with pytest.raises(DataLost):
            still_there(planned, there, fail_on_data_loss=True)
    left = still_there(planned, seen((3, 7)), fail_on_data_loss=False)
    assert left == [Range("orders", "x", 0, 3, 7)]
    assert still_there(planned, seen((0, 9), id="y"), fail_on_data_loss=False) == []


def test_a_query_of_what_is_there_now_goes_no_further() -> None:
    until = seen((0, 5))
    assert capped(seen((1, 9), (0, 4)), until) == seen((1, 5))
    assert capped(seen((0, 3)) | seen((0, 1), name="bills"), until) == seen((0, 3))


def test_only_assigned_partitions_are_read_and_they_must_be_there() -> None:
    there = seen((0, 5), (1, 6))
    assert only(there, {"orders": [1]})["orders"].partitions == {1: Bounds(1, 6)}
    with pytest.raises(InvalidOffsets, match="there is no partition 2 of topic 'orders'"):
        only(there, {"orders": [2]})
