"""Histogram of durations."""

from bisect import bisect_left

SECONDS_BOUNDS = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01),
    *(0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)
"""Bounds from a request that only touches memory to one that waits."""


class Histogram:
    """Counts per bucket, as plain numbers because `observe` is on the path of every request."""

    __slots__ = ("bounds", "counts", "total_seconds")

    def __init__(self, bounds: tuple[float, ...] = SECONDS_BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """Counts per bucket, not cumulative; the last is for durations above every bound."""
        self.total_seconds = 0.0

    def observe(self, seconds: float, count: int = 1) -> None:
        """Counts a duration, `count` times."""
        self.counts[bisect_left(self.bounds, seconds)] += count
        self.total_seconds += seconds * count

    def cumulative(self) -> list[tuple[str, float]]:
        """Cumulative buckets as in Prometheus: upper bound, and the count at or below it."""
        buckets: list[tuple[str, float]] = []
        count = 0
        for bound, more in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            count += more
            buckets.append((bound, count))
        return buckets
