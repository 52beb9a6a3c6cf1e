"""Clocks of the machine."""

from time import monotonic_ns, thread_time_ns, time_ns


class SystemClock:
    monotonic_ns = staticmethod(monotonic_ns)
    thread_ns = staticmethod(thread_time_ns)

    def now_ms(self) -> int:
        return time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return monotonic_ns() // 1_000_000

    def worked(self, steps: int) -> None:
        """Does nothing: work takes time by itself."""
