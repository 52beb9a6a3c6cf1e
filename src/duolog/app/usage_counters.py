"""What was used since the start, as metrics."""

from collections.abc import Iterator
from functools import partial

from duolog.broker.usage.meter import NoMeter
from duolog.observe.metrics import Metrics, Sample

_DOCS = {
    "requests": "Requests, by what they used.",
    "messages": "Messages that were moved or ended, by what was used.",
    "bytes": "Bytes of them.",
    "byte_seconds": "Bytes stored, times the seconds for which they were.",
    "errors": "Requests, or entries of batches, that were refused.",
}


def register_usage_counters(metrics: Metrics, meter: NoMeter) -> None:
    metrics.labelled.append(partial(_samples, meter))


def _samples(meter: NoMeter) -> Iterator[Sample]:
    for key, counts in meter.totals():
        labels = {"kind": key.kind, "resource": key.resource, "operation": key.operation}
        for name, value in counts._asdict().items():
            if value:
                yield Sample(f"duolog_usage_{name}_total", _DOCS[name], labels, value, counter=True)
