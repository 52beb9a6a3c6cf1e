"""How a push endpoint does, and how many requests it therefore gets. Pure.

Every failed push brings a message nearer to its dead-letter queue. An endpoint that is down is
therefore not offered all that waits, but one message at a time, more and more seldom: a short
outage costs a few messages a few of their receives, and none of the others any.
"""

BACK_OFF_MS_MIN = 1_000
BACK_OFF_MS_MAX = 15 * 60_000
"""Far below the twelve hours for which a message can be hidden at all."""

FAILURES_MAX = 3
"""In a row, after which the endpoint, not the messages, is held to be the cause."""
PAUSE_MS_MAX = 30_000
"""Between two attempts at an endpoint that fails: how late it may be found working again."""


def back_off_ms(failures: int) -> int:
    """How long to wait after that many failures: a second, then twice as long each time."""
    # The shift is bounded, since a message without a dead-letter queue fails any number of times.
    return min(BACK_OFF_MS_MIN << min(failures - 1, 32), BACK_OFF_MS_MAX)


class EndpointHealth:
    def __init__(self) -> None:
        self._failures = 0
        """Since the last success."""

    @property
    def is_failing(self) -> bool:
        return self._failures >= FAILURES_MAX

    def allowed(self, concurrency: int) -> int:
        """How many requests it may get at a time."""
        return 1 if self.is_failing else concurrency

    @property
    def pause_ms(self) -> int:
        """How long it is left alone now."""
        if not self.is_failing:
            return 0
        return min(back_off_ms(self._failures - FAILURES_MAX + 1), PAUSE_MS_MAX)

    def failed(self) -> bool:
        """True if this is when it began to fail."""
        self._failures += 1
        return self._failures == FAILURES_MAX

    def worked(self) -> bool:
        """True if it had been failing."""
        was_failing = self.is_failing
        self._failures = 0
        return was_failing
