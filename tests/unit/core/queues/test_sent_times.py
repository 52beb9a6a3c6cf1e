from itertools import pairwise

import pytest

from duolog.core.queues import sent_times
from duolog.core.queues.sent_times import SentTimes


@pytest.fixture
def times() -> SentTimes:
    """Ten messages a second, beginning with second 100."""
    times = SentTimes()
    for second in range(100, 110):
        times.note((second - 100) * 10, second)
    return times


def test_a_message_was_sent_in_the_second_of_its_stretch(times: SentTimes) -> None:
    assert times.sent_ms(0) == 100_000
    assert times.sent_ms(9) == 100_000
    assert times.sent_ms(10) == 101_000
    assert SentTimes().sent_ms(0) is None


def test_a_second_expires_when_its_last_millisecond_does(times: SentTimes) -> None:
    assert times.expired_before(100_998, 100) == 0
    assert times.expired_before(100_999, 100) == 10
    assert times.expired_before(109_999, 100) == 100
    assert SentTimes().expired_before(109_999, 0) == 0


def test_an_offset_is_found_by_time(times: SentTimes) -> None:
    assert times.offset_at(0, 100) == 0
    assert times.offset_at(103_500, 100) == 30
    assert times.offset_at(110_000, 100) == 100


def test_the_front_can_be_forgotten(times: SentTimes) -> None:
    times.forget_before(35)
    assert len(times) == 7
    assert times.sent_ms(35) == 103_000
    assert times.offset_at(0, 100) == 30


def test_after_a_truncation_the_same_second_is_noted_again(times: SentTimes) -> None:
    times.truncate(90)
    assert times.last_second == 108
    assert times.sent_ms(95) == 108_000


def test_old_times_get_coarser_but_never_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_times, "SENT_TIMES_MAX", 16)
    times = SentTimes()
    for second in range(1_000):
        times.note(second * 10, second)
        assert len(times) <= 16
    for second in range(0, 1_000, 7):
        offset = second * 10
        sent_ms = times.sent_ms(offset)
        assert sent_ms is not None
        assert sent_ms >= second * 1_000
        assert times.offset_at(second * 1_000, 10_000) <= offset
        assert times.expired_before(second * 1_000 + 998, 10_000) <= offset
    found = [times.offset_at(second * 1_000, 10_000) for second in range(1_000)]
    assert all(left <= right for left, right in pairwise(found))
    assert found[-1] == 9_990
