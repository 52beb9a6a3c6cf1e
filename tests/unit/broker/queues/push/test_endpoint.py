"""How an endpoint that fails is treated."""

from itertools import pairwise

from duolog.broker.queues.push.endpoint import (
    BACK_OFF_MS_MAX,
    FAILURES_MAX,
    PAUSE_MS_MAX,
    EndpointHealth,
    back_off_ms,
)


def test_the_wait_doubles_up_to_a_quarter_of_an_hour() -> None:
    assert [back_off_ms(failures) for failures in range(1, 6)] == [1e3, 2e3, 4e3, 8e3, 16e3]
    waits = [back_off_ms(failures) for failures in range(1, 20)]
    assert all(earlier <= later for earlier, later in pairwise(waits))
    assert waits[-1] == back_off_ms(1_000_000) == BACK_OFF_MS_MAX == 900_000


def test_a_single_failure_is_held_to_be_the_messages() -> None:
    health = EndpointHealth()
    for _ in range(5 * FAILURES_MAX):
        assert not health.failed()
        assert not health.worked()
    assert (health.allowed(4), health.pause_ms) == (4, 0)


def test_failures_in_a_row_are_held_to_be_the_endpoints_until_it_works() -> None:
    health = EndpointHealth()
    assert [health.failed() for _ in range(FAILURES_MAX + 1)].index(True) == FAILURES_MAX - 1
    assert health.is_failing
    assert health.allowed(4) == 1
    assert health.worked()
    assert not health.is_failing
    assert health.allowed(4) == 4


def test_an_endpoint_that_goes_on_failing_is_tried_more_and_more_seldom() -> None:
    health = EndpointHealth()
    pauses = []
    for _ in range(FAILURES_MAX + 10):
        health.failed()
        pauses.append(health.pause_ms)
    assert pauses[: FAILURES_MAX + 2] == [0] * (FAILURES_MAX - 1) + [1_000, 2_000, 4_000]
    assert pauses[-1] == PAUSE_MS_MAX
