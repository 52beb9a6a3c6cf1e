"""The node's metrics: plain counters that the hot path bumps, and callbacks for the rest.

exposition.py turns them into Prometheus text when somebody asks. `/metrics` has a bounded
size; what else is per topic, group or queue is asked for one name at a time, through `detail`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from duolog.observe.histogram import Histogram

OPERATIONS_MAX = 1024
"""Most pairs of protocol and operation. They come from tables, so more means a leak of names."""

Dimension = Literal["topic", "group", "queue"]


class OperationStats:
    """One operation of one protocol: each answer is `done`, and `failed` if it is an error."""

    __slots__ = ("answered", "duration", "failed", "observe", "operation", "protocol")

    def __init__(self, protocol: str, operation: str) -> None:
        self.protocol = protocol
        self.operation = operation
        self.answered = 0
        self.failed = 0
        """Of those that were answered, the ones that told of an error."""
        self.duration = Histogram()
        self.observe = self.duration.observe

    def done(self, started_ns: int, ended_ns: int, count: int = 1) -> None:
        """So many requests, which came together, were answered together."""
        seconds = (ended_ns - started_ns) * 1e-9
        self.answered += count
        # As `observe` does it, without the call: this is on the path of every request.
        duration = self.duration
        duration.counts[bisect_left(duration.bounds, seconds)] += count
        duration.total_seconds += seconds * count


@dataclass(frozen=True, slots=True)
class Reading:
    """A number that is there already and is only read at every scrape."""

    name: str
    doc: str
    read: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Sample:
    """One series that has labels of its own."""

    name: str
    doc: str
    labels: dict[str, str]
    value: float
    counter: bool = False
    """Whether it only grows; its name then ends in `_total`."""


Detail = Callable[[str], Iterable[Sample] | None]
"""The series of the topic, group or queue of that name; None when there is no such one."""


class Metrics:
    def __init__(self) -> None:
        self.fsync = Histogram()
        self.loop_lag = Histogram()
        self.operations: dict[tuple[str, str], OperationStats] = {}
        self.gauges: dict[str, Reading] = {}
        self.counters: dict[str, Reading] = {}
        self.labelled: list[Callable[[], Iterable[Sample]]] = []
        """Series with labels, of which there are not more than a maximum."""
        self.details: dict[Dimension, Detail] = {}

    def request(self, protocol: str, operation: str) -> OperationStats:
        """The counters of an operation: look them up once, and keep them."""
        key = (protocol, operation)
        stats = self.operations.get(key)
        if stats is None:
            assert len(self.operations) < OPERATIONS_MAX
            stats = self.operations[key] = OperationStats(protocol, operation)
        return stats

    def gauge(self, name: str, doc: str, read: Callable[[], float]) -> None:
        assert name.startswith("duolog_"), name
        assert name not in self.gauges, name
        self.gauges[name] = Reading(name, doc, read)

    def counter(self, name: str, doc: str, read: Callable[[], float]) -> None:
        """A number that only grows; its name gets `_total` behind it."""
        assert name.startswith("duolog_"), name
        assert name not in self.counters, name
        self.counters[name] = Reading(name, doc, read)

    def detail(self, dimension: Dimension, samples: Detail) -> None:
        self.details[dimension] = samples
