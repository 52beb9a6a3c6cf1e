"""What a scrape shows of what the node counted."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from duolog.observe.exposition import Exposition, render_samples
from duolog.observe.histogram import Histogram
from duolog.observe.metrics import Metrics, Sample


def scrape(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = Exposition(metrics).render().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_are_counted_by_protocol_operation_and_status() -> None:
    metrics = Metrics()
    stats = metrics.request("kafka", "Produce")
    stats.answered += 3
    stats.failed += 1
    stats.observe(0.003)
    assert metrics.request("kafka", "Produce") is stats
    seen = scrape(metrics)
    labels = (("operation", "Produce"), ("protocol", "kafka"))
    assert seen["duolog_requests_total", (*labels, ("status", "ok"))] == 2
    assert seen["duolog_requests_total", (*labels, ("status", "error"))] == 1
    assert seen["duolog_request_duration_seconds_count", labels] == 1
    assert seen["duolog_request_duration_seconds_sum", labels] == 0.003
    assert seen["duolog_request_duration_seconds_bucket", (("le", "0.0025"), *labels)] == 0
    assert seen["duolog_request_duration_seconds_bucket", (("le", "0.005"), *labels)] == 1


def test_a_node_exposes_what_it_counts_and_what_it_is_asked() -> None:
    metrics = Metrics()
    metrics.fsync.observe(0.5)
    metrics.loop_lag.observe(0.001)
    metrics.counter("duolog_partition_bytes_in", "Bytes.", lambda: 10)
    count = 3
    metrics.gauge("duolog_connections", "Open connections.", lambda: count)
    count = 4
    seen = scrape(metrics)
    assert seen["duolog_fsync_duration_seconds_count", ()] == 1
    assert seen["duolog_event_loop_lag_seconds_count", ()] == 1
    assert seen["duolog_partition_bytes_in_total", ()] == 10
    assert seen["duolog_connections", ()] == 4


def test_a_scrape_does_not_grow_with_use() -> None:
    metrics = Metrics()
    stats = metrics.request("kafka", "Fetch")
    before = len(scrape(metrics))
    for _ in range(1000):
        stats.answered += 1
        stats.observe(0.01)
    assert len(scrape(metrics)) == before


def test_a_histogram_counts_a_bound_as_below_itself() -> None:
    histogram = Histogram((1.0, 2.0))
    for seconds in (0.5, 1.0, 1.5, 2.0, 9.0):
        histogram.observe(seconds)
    assert histogram.cumulative() == [("1.0", 2), ("2.0", 4), ("+Inf", 5)]
    assert histogram.total_seconds == 14.0


def test_detailed_samples_of_one_name_stand_together() -> None:
    def sample(topic: str, name: str, value: float, *, counter: bool = False) -> Sample:
        return Sample(name, "Is a test.", {"topic": topic}, value, counter)

    text = render_samples(
        [
            sample("a", "duolog_x_total", 1, counter=True),
            sample("a", "duolog_y", 2),
            sample("b", "duolog_x_total", 3, counter=True),
        ]
    ).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert [sample.value for sample in families["duolog_x"].samples] == [1, 3]
    assert families["duolog_x"].type == "counter"
    assert [sample.value for sample in families["duolog_y"].samples] == [2]


def test_a_gauge_is_declared_once() -> None:
    metrics = Metrics()
    metrics.gauge("duolog_x", "Is a test.", lambda: 0)
    with pytest.raises(AssertionError):
        metrics.gauge("duolog_x", "Is a test.", lambda: 0)
