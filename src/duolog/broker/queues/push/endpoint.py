"""Health of a push endpoint, which limits its concurrent requests. Pure.

Every failed push brings a message nearer to its dead-letter queue. So an endpoint that is down
gets one message at a time, with exponential back-off: a short outage costs a few messages a few
of their receives, and the others none.
"""

BACK_OFF_MS_MIN = 1_000
BACK_OFF_MS_MAX = 15 * 60_000
"""Longest back-off of a message; far below the twelve hours that visibility is limited to."""

FAILURES_MAX = 3
"""Consecutive failures after which the endpoint, not the messages, is taken for the cause."""
PAUSE_MS_MAX = 30_000
"""Longest pause between attempts at a failing endpoint; bounds how late a recovery is noticed."""


def back_off_ms(failures: int) -> int:
    """Exponential back-off after that many failures: a second, then twice as long each time."""
    # The shift is bounded, since a message without a dead-letter queue fails any number of times.
    return min(BACK_OFF_MS_MIN << min(failures - 1, 32), BACK_OFF_MS_MAX)


class EndpointHealth:
    def __init__(self) -> None:
        self._failures = 0
        """Failures since the last success."""

    @property
    def is_failing(self) -> bool:
        return self._failures >= FAILURES_MAX

    def allowed(self, concurrency: int) -> int:
        """Number of concurrent requests that the endpoint may get."""
        return 1 if self.is_failing else concurrency

    @property
    def pause_ms(self) -> int:
        """Pause before the next attempt; 0 unless the endpoint is failing."""
        if not self.is_failing:
            return 0
        return min(back_off_ms(self._failures - FAILURES_MAX + 1), PAUSE_MS_MAX)

    def failed(self) -> bool:
        """Counts a failure; True if the endpoint has just begun to fail."""
        self._failures += 1
        return self._failures == FAILURES_MAX

    def worked(self) -> bool:
        """Counts a success; True if the endpoint had been failing."""
        was_failing = self.is_failing
        self._failures = 0
        return was_failing
