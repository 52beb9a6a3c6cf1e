from datetime import UTC, datetime

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from pyspark_duolog.source.filters import Bounded, bounded_by


def test_filters_that_say_nothing_of_the_place_narrow_nothing() -> None:
    filters: list[Filter] = [
        IsNotNull(("offset",)),
        EqualTo(("value",), b"x"),
        Not(EqualTo(("partition",), 1)),
        EqualTo(("headers", "offset"), 1),
        LessThan(("timestamp",), datetime(2026, 1, 1, tzinfo=UTC)),
        GreaterThan(("timestamp",), datetime(2026, 1, 1)),
    ]
    assert bounded_by(filters) == Bounded()


def test_offsets_are_narrowed_from_both_sides() -> None:
    filters: list[Filter] = [
        GreaterThan(("offset",), 4),
        GreaterThanOrEqual(("offset",), 3),
        LessThan(("offset",), 20),
        LessThanOrEqual(("offset",), 9),
    ]
    bounded = bounded_by(filters)
    assert (bounded.first_offset, bounded.end_offset) == (5, 10)
    bounded = bounded_by([EqualTo(("offset",), 7)])
    assert (bounded.first_offset, bounded.end_offset) == (7, 8)


def test_partitions_and_topics_have_to_pass_every_filter() -> None:
    filters: list[Filter] = [
        In(("partition",), (1, 2, 3)),
        In(("partition",), (2, 3, 4)),
        EqualTo(("topic",), "orders"),
    ]
    bounded = bounded_by(filters)
    assert [each for each in range(6) if bounded.has("orders", each)] == [2, 3]
    assert not bounded.has("bills", 2)


def test_a_time_narrows_only_from_below_and_to_the_whole_millisecond() -> None:
    moment = datetime(2026, 1, 1, 0, 0, 0, 1_999, tzinfo=UTC)
    bounded = bounded_by([GreaterThan(("timestamp",), moment)])
    assert bounded.timestamp_ms_min == 1_767_225_600_001
