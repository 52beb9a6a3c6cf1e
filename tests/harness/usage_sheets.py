"""Usage sheets as nodes write them, for tests that stand in for nodes."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Producer

HOUR_MS = 3_600_000
JOURNAL = "0123456789abcdef" * 2
START_MS = 1_790_000_000_000 - 1_790_000_000_000 % HOUR_MS
"""A full hour."""

Sheet = dict[str, Any]
_SUBJECT = {
    "tenant": "000000000000",
    "kind": "queue",
    "resource": "orders",
    "operation": "send",
    "requests": 0,
    "messages": 0,
    "bytes": 0,
    "byte_seconds": 0,
    "errors": 0,
}


def sheet_of(
    sequence: int,
    *subjects: Mapping[str, Any],
    node: int = 1,
    journal: str = JOURNAL,
    part: int = 0,
    parts: int = 1,
    from_ms: int = START_MS,
    **more: Any,
) -> Sheet:
    """With a line for each subject, which may leave out what it has in common with others."""
    return {
        "version": 1,
        "node": node,
        "journal": journal,
        "sequence": sequence,
        "part": part,
        "parts": parts,
        "from_ms": from_ms,
        "to_ms": from_ms + 5_000,
        **{
            name: [subject.get(name, common) for subject in subjects]
            for name, common in _SUBJECT.items()
        },
        **more,
    }


def write_sheets(
    bootstrap: str, topic: str, sheets: Iterable[Sheet | bytes], partition: int = 0
) -> None:
    """In the order given, each as a record."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for sheet in sheets:
        value = sheet if isinstance(sheet, bytes) else json.dumps(sheet)
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0
