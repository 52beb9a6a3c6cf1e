"""The batches that the workloads send: one record, and about a megabyte."""

import time

from bench.batches import encode_batch

MEGABYTE_RECORDS = 1000
"""Of 1 KB each: just under the default limit of a batch."""


def one_record(value_bytes: int = 100) -> bytes:
    return encode_batch([b"x" * value_bytes], timestamp_ms=now_ms())


def megabyte() -> bytes:
    return encode_batch([b"x" * 1024] * MEGABYTE_RECORDS, timestamp_ms=now_ms())


def now_ms() -> int:
    """Retention goes by the records' own time, so they must be young."""
    return time.time_ns() // 1_000_000
