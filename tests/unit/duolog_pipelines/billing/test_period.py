"""Months."""

import pytest

from duolog_pipelines.billing.period import Period


def test_a_month_ends_where_the_next_one_begins() -> None:
    assert Period.parse("2026-12").next == Period(2027, 1)
    assert Period(2026, 12).end_ms == Period(2027, 1).start_ms
    assert Period(2028, 2).seconds == 29 * 86_400


def test_a_moment_is_in_one_month() -> None:
    october = Period(2026, 10)
    assert Period.at(october.start_ms) == october == Period.at(october.end_ms - 1)
    assert Period.at(october.end_ms) == Period(2026, 11)


@pytest.mark.parametrize("text", ["2026", "2026-13", "2026-1", "26-01", "2026-01-01"])
def test_what_is_no_month_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no month of the form YYYY-MM"):
        Period.parse(text)
