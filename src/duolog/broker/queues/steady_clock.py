"""Time of day that neither jumps nor goes back while the node runs.

Visibility and delay outlive the process and its leadership, so they are stored as times of day;
but a deadline must not move when somebody sets the clock. The time of day is taken once, and
from then on only followed slowly. What another leader has written down has happened: a node
whose clock is behind that goes on from there, or what is in flight would stay so for as long
as the two differ.
"""

from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock

PACE = 20
"""An hour that somebody sets the clock by is followed in so many hours."""
BEHIND_MS_MAX = 15 * 60_000
"""By how much a node believes others more than its own clock. Theirs may be the wrong one, and
messages are kept for days by it."""

log = get_logger("queues")


class SteadyClock:
    def __init__(self, clock: Clock) -> None:
        self.monotonic_ms = clock.monotonic_ms
        self._wall_ms = clock.now_ms
        self._began_ms = clock.now_ms() - clock.monotonic_ms()
        """The time of day at which the other clock was zero, as far as this one tells."""
        self._followed_ms = clock.monotonic_ms()
        self._reached_ms = 0
        """It was this late already when the clock was last slowed down."""

    def now_ms(self) -> int:
        now_ms = self._began_ms + self.monotonic_ms()
        return now_ms if now_ms > self._reached_ms else self._reached_ms

    def follow(self) -> None:
        """Come nearer to the time of day, as far as the time since the last call allows."""
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
        """Somebody who led a queue before this node did has written something at that time."""
        behind_ms = written_ms - self.now_ms()
        if behind_ms <= 0:
            return
        if behind_ms > BEHIND_MS_MAX:
            log.error("the clocks of this node and another differ", behind_ms=behind_ms)
        self._began_ms += min(behind_ms, BEHIND_MS_MAX)
