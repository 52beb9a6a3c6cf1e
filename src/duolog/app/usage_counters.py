"""Usage since the node's start, as metrics."""

from collections.abc import Iterator
from functools import partial

from duolog.broker.usage.meter import NoMeter
from duolog.observe.metrics import Metrics, Sample

_DOCS = {
    "requests": "Requests, by resource and operation.",
    "messages": "Messages moved or ended, by resource and operation.",
    "bytes": "Bytes of these messages.",
    "byte_seconds": "Bytes stored, multiplied by the seconds of storage.",
    "errors": "Refused requests and batch entries.",
}


def register_usage_counters(metrics: Metrics, meter: NoMeter) -> None:
    metrics.labelled.append(partial(_samples, meter))


def _samples(meter: NoMeter) -> Iterator[Sample]:
    for key, counts in meter.totals():
        labels = {"kind": key.kind, "resource": key.resource, "operation": key.operation}
        for name, value in counts._asdict().items():
            if value:
                yield Sample(f"duolog_usage_{name}_total", _DOCS[name], labels, value, counter=True)
