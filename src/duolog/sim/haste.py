"""Lower thresholds, while a seed runs, that a minute of load would never reach.

With them a few hundred messages suffice for snapshots of queues, and for segments that are sealed,
reclaimed, thinned or damaged.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from duolog.broker import admission
from duolog.broker.groups import read_ahead, restoring
from duolog.broker.queues import snapshots, topics, upkeep
from duolog.core.groups import newest_records, snapshot

_LOWERED: tuple[tuple[Any, str, int], ...] = (
    (topics, "MESSAGE_SEGMENT_BYTES", 16 * 1024),
    (topics, "JOURNAL_SEGMENT_BYTES", 16 * 1024),
    (upkeep, "SNAPSHOT_AFTER_NS", 500_000),
    (upkeep, "RECLAIM_BYTES_MIN", 4 * 1024),
    (snapshots, "PIECE_BYTES", 512),
    (read_ahead, "READ_COST_NS", 100_000),
    (snapshot, "PIECE_ROWS", 4),
    # Each record stands for many (host.py).
    (newest_records, "STEP_RECORDS", 1),
    (restoring, "REPLAYED_TOGETHER", 1),
    (admission, "STEPS_UNSEEN", 1),
)


@contextmanager
def hastened() -> Iterator[None]:
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in _LOWERED]
    for owner, name, low in _LOWERED:
        setattr(owner, name, low)
    try:
        yield
    finally:
        for owner, name, original in kept:
            setattr(owner, name, original)
