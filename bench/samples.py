"""What one run measured, and the medians of several. Pure.

A MB is 10^6 bytes, a message of 1 KB is 1,024 bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

BYTES_PER_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One run against one server."""

    seconds: float
    cpu_seconds: float
    """What all threads of the server used meanwhile."""
    others_cores: float | None = None
    """What processes that are no part of the run used meanwhile, in cores."""
    requests: int = 0
    messages: int = 0
    bytes: int = 0
    p50_us: float | None = None
    p99_us: float | None = None
    p999_us: float | None = None
    rss_mb: float | None = None
    """Of the server, after the run."""
    is_paced: bool = False
    """Whether the load had a rate, so that the run took as long as it was meant to."""

    @property
    def work(self) -> int:
        return self.messages or self.requests

    def with_memory(self, rss_mb: float) -> "Sample":
        return replace(self, rss_mb=rss_mb)


@dataclass(frozen=True, slots=True)
class Figures:
    """The medians of some samples; None where a workload has no such figure."""

    mb_per_s: float | None = None
    messages_per_s: float | None = None
    requests_per_s: float | None = None
    cpu_ms_per_mb: float | None = None
    cpu_us_per_request: float | None = None
    cpu_us_per_message: float | None = None
    cpu_share: float | None = None
    """Of one core: 0.42 is 42%."""
    p50_us: float | None = None
    p99_us: float | None = None
    p999_us: float | None = None
    seconds: float | None = None
    rss_mb: float | None = None
    stored_gb: float | None = None
    """In sealed segments, where a workload is about what is stored."""
    population: int | None = None
    """Messages or queues that were there meanwhile, where a workload is about their number."""
    spread: float | None = None
    """Half the range of the runs' time per unit of work, over its median: how far to trust
    the figures that depend on the clock."""
    cpu_spread: float | None = None
    """The same of the server's CPU time."""
    others_cores: float | None = None
    """What processes that are no part of the run used meanwhile, in cores."""


def summarize(samples: Sequence[Sample]) -> Figures:
    """Medians figure by figure, so that one disturbed run moves none of them."""

    def middle(of: Callable[[Sample], float | None]) -> float | None:
        values = [value for value in map(of, samples) if value is not None]
        return median(values) if values else None

    def rate(amount: float, over: float) -> float | None:
        return amount / over if amount and over else None

    return Figures(
        mb_per_s=middle(lambda s: rate(s.bytes / BYTES_PER_MB, s.seconds)),
        messages_per_s=middle(lambda s: rate(s.messages, s.seconds)),
        requests_per_s=middle(lambda s: rate(s.requests, s.seconds)),
        cpu_ms_per_mb=middle(lambda s: rate(s.cpu_seconds * 1e3, s.bytes / BYTES_PER_MB)),
        cpu_us_per_request=middle(lambda s: rate(s.cpu_seconds * 1e6, s.requests)),
        cpu_us_per_message=middle(lambda s: rate(s.cpu_seconds * 1e6, s.messages)),
        cpu_share=middle(lambda s: rate(s.cpu_seconds, s.seconds)),
        p50_us=middle(lambda s: s.p50_us),
        p99_us=middle(lambda s: s.p99_us),
        p999_us=middle(lambda s: s.p999_us),
        seconds=middle(lambda s: s.seconds),
        rss_mb=middle(lambda s: s.rss_mb),
        spread=_spread([s.seconds / s.work for s in samples if s.work]),
        cpu_spread=_spread([s.cpu_seconds / s.work for s in samples if s.work]),
        others_cores=middle(lambda s: s.others_cores),
    )


def _spread(values: Sequence[float]) -> float | None:
    if not values or not median(values):
        return None
    return (max(values) - min(values)) / 2 / median(values)
