import pytest
from tests.heal.timeline import Client, Served, Timeline

FIRST, SECOND = Client("produce", "numbers/0"), Client("receive", "orders")
SILENCE_MAX = 1.0
STEADY = 2.0


def timeline(first: list[float], second: list[float]) -> Timeline:
    """Answers at these times, each to a request that was begun just before."""
    made = Timeline([FIRST, SECOND])
    for client, times in ((FIRST, first), (SECOND, second)):
        for at in times:
            made.note(client, at - 0.01, at)
    return made


def served(made: Timeline, now: float, since: float = 10.0) -> Served | None:
    return made.served(since, now, SILENCE_MAX, STEADY)


def every(start: float, end: float, step: float = 0.5) -> list[float]:
    count = int((end - start) / step) + 1
    return [start + step * at for at in range(count)]


def test_the_gap_ends_when_the_last_client_is_answered() -> None:
    found = served(timeline(every(10.2, 16), every(13, 16)), 16.0)
    assert found is not None
    assert found.seconds == pytest.approx(3.0)
    assert found.last == SECOND


def test_a_client_without_an_answer_is_not_served() -> None:
    made = timeline(every(10.2, 16), [])
    assert served(made, 16.0) is None
    assert made.unserved(10.0, 16.0, SILENCE_MAX) == [SECOND]


def test_an_answer_to_a_request_from_before_the_fault_does_not_count() -> None:
    made = timeline(every(10.2, 16), [])
    made.note(SECOND, 9.9, 15.9)
    assert served(made, 16.0) is None


def test_service_that_stops_again_is_not_served_until_it_is_back() -> None:
    # The request that was under way when the fault came was still answered.
    made = timeline(every(10.2, 18), [10.1, *every(14, 18)])
    assert served(made, 11.5) is None
    found = served(made, 18.0)
    assert found is not None
    assert found.seconds == pytest.approx(4.0)


def test_a_short_silence_soon_after_the_fault_is_the_gap() -> None:
    made = timeline(every(10.2, 16), [10.1, 10.9, *every(11, 16)])
    found = served(made, 16.0)
    assert found is not None
    assert found.seconds == pytest.approx(0.9)


def test_nothing_is_served_before_it_was_so_for_a_while() -> None:
    assert served(timeline(every(10.2, 11.2), every(10.2, 11.2)), 11.3) is None


def test_the_longest_silence_of_each_kind_is_told_with_its_client() -> None:
    found = timeline([11.0, 12.0, 15.0], [10.5, 14.5]).silences(10.0, 16.0)
    assert found["produce"].seconds == pytest.approx(3.0)
    assert found["receive"].seconds == pytest.approx(4.0)
    assert found["receive"].client == SECOND


def test_a_client_that_is_never_answered_is_silent_all_the_time() -> None:
    assert timeline([], [12.0]).silences(10.0, 16.0)["produce"].seconds == pytest.approx(6.0)
