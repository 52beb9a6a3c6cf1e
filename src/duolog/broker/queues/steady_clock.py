"""Wall-clock time that neither jumps nor goes back while the node runs.

Visibility time-outs and delays outlive the process and its leadership, so they are stored as
wall-clock times; but a deadline must not move when somebody sets the clock. So the clock is read
once, and from then on only slewed towards the system's. A time that an earlier leader has written
has passed: a node whose clock is behind continues from it, or messages in flight would stay so
for as long as the clocks differ.
"""

from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock

PACE = 20
"""Hours in which a difference of one hour is slewed away."""
BEHIND_MS_MAX = 15 * 60_000
"""Limit of a jump to another leader's time: the other clock may be the wrong one, and messages
expire by this time."""

log = get_logger("queues")


class SteadyClock:
    def __init__(self, clock: Clock) -> None:
        self.monotonic_ms = clock.monotonic_ms
        self._wall_ms = clock.now_ms
        self._began_ms = clock.now_ms() - clock.monotonic_ms()
        """Wall-clock time at zero of the monotonic clock, by this clock."""
        self._followed_ms = clock.monotonic_ms()
        self._reached_ms = 0
        """Lower bound of `now_ms`: its value when the clock was last slewed back."""

    def now_ms(self) -> int:
        now_ms = self._began_ms + self.monotonic_ms()
        return now_ms if now_ms > self._reached_ms else self._reached_ms

    def follow(self) -> None:
        """Slews towards the system's time, by at most 1/PACE of the time since the last call."""
        monotonic_ms = self.monotonic_ms()
        step_ms = (monotonic_ms - self._followed_ms) // PACE
        if step_ms == 0:
            return
        self._followed_ms = monotonic_ms
        off_by_ms = self._wall_ms() - self.now_ms()
        if off_by_ms < 0:
            self._reached_ms = self.now_ms()
        self._began_ms += max(-step_ms, min(off_by_ms, step_ms))

    def not_before(self, written_ms: int) -> None:
        """Advances to a time that an earlier leader of a queue has written."""
        behind_ms = written_ms - self.now_ms()
        if behind_ms <= 0:
            return
        if behind_ms > BEHIND_MS_MAX:
            log.error("the clocks of this node and another differ", behind_ms=behind_ms)
        self._began_ms += min(behind_ms, BEHIND_MS_MAX)
