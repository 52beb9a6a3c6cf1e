"""The grammar of places in a topic."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.positions import Position, Range, parse_position, parse_range

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
NEW_YEAR_2026_MS = 1_767_225_600_000

START, END = Position("start"), Position("end")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start", Range(START, None)),
        ("end", Range(END, None)),
        ("10", Range(Position("offset", 10), None)),
        ("10:20", Range(Position("offset", 10), Position("offset", 20))),
        ("start:20", Range(START, Position("offset", 20))),
        ("@-1h", Range(Position("time", NOW_MS - HOUR_MS), None)),
        ("@-1h:end", Range(Position("time", NOW_MS - HOUR_MS), END)),
        (
            "@-90m:@-1h",
            Range(Position("time", NOW_MS - 5_400_000), Position("time", NOW_MS - HOUR_MS)),
        ),
        ("@2026-01-01T00:00:00Z", Range(Position("time", NEW_YEAR_2026_MS), None)),
        ("@2026-01-01T00:00:00Z:end", Range(Position("time", NEW_YEAR_2026_MS), END)),
        (
            "@2026-01-01T01:00:00+01:00:@2026-01-01T01:00Z",
            Range(Position("time", NEW_YEAR_2026_MS), Position("time", NEW_YEAR_2026_MS + HOUR_MS)),
        ),
        ("@1767225600000:10", Range(Position("time", NEW_YEAR_2026_MS), Position("offset", 10))),
    ],
)
def test_a_range_is_read(text: str, expected: Range) -> None:
    assert parse_range(text, NOW_MS) == expected


@pytest.mark.parametrize(
    ("text", "ms_ago"),
    [("@-5ms", 5), ("@-5s", 5_000), ("@-2d", 172_800_000), ("@-1w", 604_800_000)],
)
def test_times_ago_have_units(text: str, ms_ago: int) -> None:
    assert parse_position(text, NOW_MS) == Position("time", NOW_MS - ms_ago)


def test_a_day_is_its_beginning_and_a_time_without_a_zone_is_utc() -> None:
    day = Position("time", NEW_YEAR_2026_MS)
    assert parse_position("@2026-01-01", NOW_MS) == day
    assert parse_position("@2026-01-01T00:00:00", NOW_MS) == day
    assert parse_position("@2026-01-01T00:00:00.250", NOW_MS).value == NEW_YEAR_2026_MS + 250


@pytest.mark.parametrize(
    "text",
    ["", "banana", "-1", "10:", ":10", "1:2:3", "@", "@-1", "@-1y", "@2026-13-01", "@99:99", "10 "],
)
def test_anything_else_is_a_usage_error(text: str) -> None:
    with pytest.raises(Failure, match=r"is no place in a topic\. Give start, end") as failure:
        parse_range(text, NOW_MS)
    assert failure.value.code is ExitCode.USAGE


def test_one_place_is_no_range() -> None:
    with pytest.raises(Failure):
        parse_position("10:20", NOW_MS)


@given(st.text(max_size=30))
def test_nothing_but_a_usage_error_comes_of_nonsense(text: str) -> None:
    with suppress(Failure):
        parse_range(text, NOW_MS)
