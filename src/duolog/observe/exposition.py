"""Renders metrics in Prometheus's text format."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from duolog import __version__
from duolog.observe.histogram import Histogram
from duolog.observe.metrics import Metrics, Sample

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Exposition:
    """Renders one node's metrics; its registry is its own, so that nodes do not mix."""

    def __init__(self, metrics: Metrics) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_NodeCollector(metrics))
        ProcessCollector(registry=self._registry)

    def render(self) -> bytes:
        return generate_latest(self._registry)


def render_samples(samples: Iterable[Sample]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(_families(samples)))
    return generate_latest(registry)


def _families(samples: Iterable[Sample]) -> list[Metric]:
    """Groups series of the same name, as the format requires."""
    families: dict[str, Metric] = {}
    for sample in samples:
        family = families.get(sample.name)
        if family is None:
            kind = CounterMetricFamily if sample.counter else GaugeMetricFamily
            family = families[sample.name] = kind(sample.name, sample.doc)
        family.add_sample(sample.name, sample.labels, sample.value)
    return list(families.values())


class _Families(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


class _NodeCollector(Collector):
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        metrics = self._metrics
        yield InfoMetricFamily("duolog_build", "Version of Duolog.", {"version": __version__})
        yield from self._requests()
        yield _durations(
            "duolog_fsync_duration_seconds", "Time to force writes to disk.", metrics.fsync
        )
        yield _durations(
            "duolog_event_loop_lag_seconds",
            "Delay of due timers on the event loop.",
            metrics.loop_lag,
        )
        for counter in metrics.counters.values():
            yield CounterMetricFamily(counter.name, counter.doc, counter.read())
        for gauge in metrics.gauges.values():
            yield GaugeMetricFamily(gauge.name, gauge.doc, gauge.read())
        for samples in metrics.labelled:
            yield from _families(samples())

    def _requests(self) -> Iterator[Metric]:
        count = CounterMetricFamily(
            "duolog_requests", "Requests answered.", labels=("protocol", "operation", "status")
        )
        duration = HistogramMetricFamily(
            "duolog_request_duration_seconds",
            "Time from a request's last byte to its answer.",
            labels=("protocol", "operation"),
        )
        for stats in self._metrics.operations.values():
            labels = (stats.protocol, stats.operation)
            count.add_metric((*labels, "ok"), stats.answered - stats.failed)
            count.add_metric((*labels, "error"), stats.failed)
            duration.add_metric(labels, stats.duration.cumulative(), stats.duration.total_seconds)
        yield count
        yield duration


def _durations(name: str, doc: str, histogram: Histogram) -> Metric:
    return HistogramMetricFamily(
        name,
        doc,
        buckets=histogram.cumulative(),
        sum_value=histogram.total_seconds,
    )
