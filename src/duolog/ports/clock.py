"""Time, as the broker sees it."""

from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall-clock milliseconds since 1970; stamped on records, compared with retention."""
        ...

    def monotonic_ms(self) -> int:
        """Monotonic milliseconds, which never jump; for deadlines and leases."""
        ...

    def monotonic_ns(self) -> int:
        """The monotonic clock in nanoseconds; for measuring durations."""
        ...

    def thread_ns(self) -> int:
        """CPU time of the calling thread: a busy host does not make it pass."""
        ...

    def worked(self, steps: int) -> None:
        """Called after so many steps of long work: makes a simulated clock pass; a real one passes
        by itself."""
        ...
