"""Openings of a queue's partition beside the one that serves it, and what each comes to know."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from msgspec.structs import asdict

from duolog.broker.admission import at_once
from duolog.broker.queues import recovery
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queues import Queues
from duolog.records.delivery_image import decode_image, from_column


class Known(NamedTuple):
    """What an opened partition knows."""

    image: dict[str, Any]
    keys: dict[bytes, int | None]
    end_offset: int


def opened(queues: Queues, name: str) -> QueuePartition:
    """A partition of which nothing was read yet."""
    queue = queues.local(name)
    served = queue.partitions[0]
    journal = served.journal
    return queues._serving._blank(queue, served.data, journal and journal.partition)


def reading(queues: Queues, name: str, partition: QueuePartition) -> Iterator[None]:
    return recovery.reading(partition, queues.local(name).config, queues.clock.now_ms())


def known(partition: QueuePartition, now_ms: int) -> Known:
    partition.delivery.tick(now_ms)
    image = asdict(decode_image(partition.delivery.snapshot()))
    # Those that returned are offered in the order in which that was noticed.
    image["returned"] = sorted(from_column(image["returned"]))
    keys = {
        key: partition.deduplication.find(key, now_ms)
        for generation in tuple(partition.deduplication._generations)
        for key in tuple(generation.offsets)
    }
    found = {key: offset for key, offset in keys.items() if offset is not None}
    return Known(image, found, partition.delivery.end_offset)


def read_fully(queues: Queues, name: str, monkeypatch: pytest.MonkeyPatch) -> Known:
    """What is known by reading every message and every change."""
    partition = opened(queues, name)
    with monkeypatch.context() as without:
        without.setattr(recovery, "searching", lambda journal, with_keys: ())
        at_once(reading(queues, name, partition))
    return known(partition, queues.clock.now_ms())
