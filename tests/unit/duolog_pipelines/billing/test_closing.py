"""Which months are closed."""

from duolog_pipelines.billing.closing import planned
from duolog_pipelines.billing.period import Period

AUGUST, SEPTEMBER, OCTOBER, NOVEMBER = (Period(2026, month) for month in (8, 9, 10, 11))
DAY_MS = 86_400_000


def test_nothing_is_billed_before_there_is_usage() -> None:
    assert planned([], [], OCTOBER.start_ms, 0) == ([], [])


def test_a_month_is_closed_when_it_is_over_and_its_grace_too() -> None:
    end = OCTOBER.end_ms
    assert planned([OCTOBER], [], end - 1, DAY_MS) == ([], [OCTOBER])
    assert planned([OCTOBER], [], end + DAY_MS - 1, DAY_MS) == ([], [OCTOBER, NOVEMBER])
    assert planned([OCTOBER], [], end + DAY_MS, DAY_MS) == ([OCTOBER], [NOVEMBER])


def test_a_month_without_usage_is_closed_too_and_a_closed_one_never_again() -> None:
    now_ms = NOVEMBER.start_ms + DAY_MS
    assert planned([AUGUST, OCTOBER], [AUGUST], now_ms, 0) == ([SEPTEMBER, OCTOBER], [NOVEMBER])
    assert planned([AUGUST], [AUGUST, SEPTEMBER, OCTOBER], now_ms, 0) == ([], [NOVEMBER])


def test_usage_of_a_month_to_come_is_a_draft() -> None:
    assert planned([OCTOBER, NOVEMBER], [], OCTOBER.start_ms, 0).draft == [OCTOBER, NOVEMBER]
