"""Metrics of the node: plain counters that the hot path increments, and callbacks for the rest.

exposition.py renders them as Prometheus text on request. `/metrics` has a bounded size; further
series per topic, group or queue are requested one name at a time, through `detail`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from duolog.observe.histogram import Histogram

OPERATIONS_MAX = 1024
"""Limit of pairs of protocol and operation. They come from tables, so more means a leak of
names."""

Dimension = Literal["topic", "group", "queue"]


class OperationStats:
    """Counters of one operation; each answer is `done`, and also counts as `failed` if it is an
    error."""

    __slots__ = ("answered", "duration", "failed", "observe", "operation", "protocol")

    def __init__(self, protocol: str, operation: str) -> None:
        self.protocol = protocol
        self.operation = operation
        self.answered = 0
        self.failed = 0
        """Answers that were errors; included in `answered`."""
        self.duration = Histogram()
        self.observe = self.duration.observe

    def done(self, started_ns: int, ended_ns: int, count: int = 1) -> None:
        """Counts requests that arrived together and were answered together."""
        seconds = (ended_ns - started_ns) * 1e-9
        self.answered += count
        # Inlined `observe`: this is on the path of every request.
        duration = self.duration
        duration.counts[bisect_left(duration.bounds, seconds)] += count
        duration.total_seconds += seconds * count


@dataclass(frozen=True, slots=True)
class Reading:
    """Number kept elsewhere, which is read at every scrape."""

    name: str
    doc: str
    read: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Sample:
    """Value of one labelled series."""

    name: str
    doc: str
    labels: dict[str, str]
    value: float
    counter: bool = False
    """True if it only grows; its name then ends in `_total`."""


Detail = Callable[[str], Iterable[Sample] | None]
"""Returns the series of the topic, group or queue of that name; None if it does not exist."""


class Metrics:
    def __init__(self) -> None:
        self.fsync = Histogram()
        self.loop_lag = Histogram()
        self.operations: dict[tuple[str, str], OperationStats] = {}
        self.gauges: dict[str, Reading] = {}
        self.counters: dict[str, Reading] = {}
        self.labelled: list[Callable[[], Iterable[Sample]]] = []
        """Callbacks for labelled series; each bounds the number of its series."""
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
        """Registers a number that only grows; its name gets the suffix `_total`."""
        assert name.startswith("duolog_"), name
        assert name not in self.counters, name
        self.counters[name] = Reading(name, doc, read)

    def detail(self, dimension: Dimension, samples: Detail) -> None:
        self.details[dimension] = samples
