from hypothesis import given
from hypothesis import strategies as st

from duolog.core.usage.periods import HOUR_MS, due_ms, end_ms, hour_start_ms, next_start_ms

times = st.integers(0, 1 << 42)


def test_an_interval_is_cut_when_its_time_is_over_or_the_hour_is() -> None:
    assert due_ms(10_000, 5_000) == 15_000
    assert due_ms(HOUR_MS - 2_000, 5_000) == HOUR_MS


def test_a_late_cut_still_ends_with_the_hour() -> None:
    assert end_ms(HOUR_MS - 2_000, HOUR_MS + 30) == HOUR_MS
    assert next_start_ms(HOUR_MS, HOUR_MS + 30) == HOUR_MS
    assert next_start_ms(HOUR_MS, 5 * HOUR_MS + 30) == 5 * HOUR_MS


@given(times, times)
def test_no_interval_spans_the_full_hour_or_ends_before_it_began(from_ms: int, now_ms: int) -> None:
    to_ms = end_ms(from_ms, now_ms)
    assert from_ms <= to_ms <= hour_start_ms(from_ms) + HOUR_MS
    begins_ms = next_start_ms(to_ms, now_ms)
    assert to_ms <= begins_ms
