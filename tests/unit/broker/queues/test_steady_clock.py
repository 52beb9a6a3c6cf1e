from duolog.broker.queues.steady_clock import BEHIND_MS_MAX, PACE, SteadyClock

HOUR_MS = 3_600_000


class AdjustableClock:
    """One whose time of day somebody can set."""

    def __init__(self) -> None:
        self.at_ms = 0
        self.wall_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.wall_ms + self.at_ms

    def monotonic_ms(self) -> int:
        return self.at_ms

    def monotonic_ns(self) -> int:
        return self.at_ms * 1_000_000

    def thread_ns(self) -> int:
        return 0

    def worked(self, steps: int) -> None:
        pass


def test_a_clock_that_is_set_moves_no_deadline() -> None:
    for change_ms in (HOUR_MS, -HOUR_MS):
        clock = AdjustableClock()
        steady = SteadyClock(clock)
        began_ms = steady.now_ms()
        clock.wall_ms += change_ms
        for _ in range(30):
            clock.at_ms += 1_000
            steady.follow()
        passed_ms = steady.now_ms() - began_ms
        assert abs(passed_ms - 30_000) <= 30_000 // PACE


def test_the_time_of_day_is_followed_in_the_end() -> None:
    for change_ms in (60_000, -60_000):
        clock = AdjustableClock()
        steady = SteadyClock(clock)
        clock.wall_ms += change_ms
        for _ in range(60 * PACE):
            clock.at_ms += 1_000
            steady.follow()
        clock.at_ms += 1_000
        assert steady.now_ms() == clock.now_ms()


def test_time_never_goes_back() -> None:
    clock = AdjustableClock()
    steady = SteadyClock(clock)
    clock.wall_ms -= HOUR_MS
    seen_ms = 0
    for step_ms in (1, 7, 1_000, 0, 40, 100_000, 1, 1, 3, 5_000):
        clock.at_ms += step_ms
        before_ms = steady.now_ms()
        steady.follow()
        assert seen_ms <= before_ms <= steady.now_ms()
        seen_ms = steady.now_ms()


def test_what_another_leader_wrote_down_has_happened() -> None:
    clock = AdjustableClock()
    steady = SteadyClock(clock)
    steady.not_before(clock.now_ms() + 60_000)
    assert steady.now_ms() == clock.now_ms() + 60_000
    steady.not_before(clock.now_ms())
    assert steady.now_ms() == clock.now_ms() + 60_000


def test_a_clock_that_is_days_ahead_is_not_believed() -> None:
    clock = AdjustableClock()
    steady = SteadyClock(clock)
    steady.not_before(clock.now_ms() + 48 * HOUR_MS)
    assert steady.now_ms() == clock.now_ms() + BEHIND_MS_MAX
