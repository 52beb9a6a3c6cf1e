"""Wall-clock time that never goes back while the node runs.

Visibility and delay outlive the process, so they are stored as times of day; but a deadline
must not move when somebody sets the clock.
"""

from duolog.ports.clock import Clock


class SteadyClock:
    def __init__(self, clock: Clock) -> None:
        self.monotonic_ms = clock.monotonic_ms
        self._started_ms = clock.now_ms() - clock.monotonic_ms()

    def now_ms(self) -> int:
        return self._started_ms + self.monotonic_ms()
