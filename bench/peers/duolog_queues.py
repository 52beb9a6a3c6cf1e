"""Ours, driven as the peers of our queues are."""

from collections.abc import Sequence

from bench.peers.peer import ON_DISK, PAGE_CACHE
from bench.peers.queue_peer import QueueTrial


def missing() -> str | None:
    return None


def trials() -> Sequence[QueueTrial]:
    return [
        QueueTrial("Duolog, os", PAGE_CACHE, lambda stand: stand.broker("os", door="sqs")),
        QueueTrial("Duolog, fsync", ON_DISK, lambda stand: stand.broker("fsync", door="sqs")),
    ]
