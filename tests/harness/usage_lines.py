"""Usage lines as nodes write them, for tests that stand in for nodes."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Producer

HOUR_MS = 3_600_000
JOURNAL = "0123456789abcdef" * 2
START_MS = 1_790_000_000_000 - 1_790_000_000_000 % HOUR_MS
"""A full hour."""

Line = dict[str, Any]


def sequence_of(
    number: int,
    *subjects: Mapping[str, Any],
    node: int = 1,
    journal: str = JOURNAL,
    from_ms: int = START_MS,
    **more: Any,
) -> list[Line]:
    """The lines of one interval. A subject may leave out what it has in common with others."""
    return [
        {
            "version": 1,
            "node": node,
            "journal": journal,
            "sequence": number,
            "line": index,
            "lines": len(subjects),
            "from_ms": from_ms,
            "to_ms": from_ms + 5_000,
            "tenant": "000000000000",
            "kind": "queue",
            "resource": "orders",
            "operation": "send",
            "requests": 0,
            "messages": 0,
            "bytes": 0,
            "byte_seconds": 0,
            "errors": 0,
            **more,
            **subject,
        }
        for index, subject in enumerate(subjects)
    ]


def write_lines(
    bootstrap: str, topic: str, lines: Iterable[Line | bytes], partition: int = 0
) -> None:
    """In the order given, each as a record."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for line in lines:
        if isinstance(line, bytes):
            producer.produce(topic, line, partition=partition)
        else:
            key = line.get("tenant", "")
            producer.produce(topic, json.dumps(line), key=key, partition=partition)
    assert producer.flush(30) == 0
