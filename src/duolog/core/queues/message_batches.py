"""Builds the batches that a queue appends. Pure: no clock, no IO."""

from collections.abc import Iterator, Sequence

from duolog.core.queues.plain_batch import RECORDS_MAX, build_plain_batch
from duolog.records.builder import RECORD_OVERHEAD_BYTES, build_batch, encoded_size
from duolog.records.compression import NONE
from duolog.records.header import LOG_APPEND_TIME_BIT
from duolog.records.patch import stamp_append_time
from duolog.records.record import Record

_PLAIN = {bytes}


def build_messages(
    records: Sequence[Record | bytes], now_ms: int, *, is_stamped: bool
) -> bytearray:
    """Builds one batch; `is_stamped` marks it as having the time of the append.

    Bytes stand for a record with this value and nothing else.
    """
    if len(records) <= RECORDS_MAX and set(map(type, records)) == _PLAIN:
        attributes = LOG_APPEND_TIME_BIT if is_stamped else NONE
        return build_plain_batch(list(records), now_ms, attributes)  # type: ignore[arg-type]
    batch = build_batch(
        [Record(None, each, (), now_ms) if isinstance(each, bytes) else each for each in records]
    )
    if is_stamped:
        stamp_append_time(batch, now_ms)
    return batch


def cut_into_batches(
    records: Sequence[Record | bytes], bytes_max: int
) -> Iterator[tuple[int, int]]:
    """Yields begin and end of each batch; none is larger than `bytes_max`, except for one
    message."""
    if set(map(type, records)) == _PLAIN:
        # Nearly always all fit, and the upper bound shows it without going through them.
        size = RECORD_OVERHEAD_BYTES * len(records) + sum(map(len, records))
        if size <= bytes_max:
            yield 0, len(records)
            return
    first = size = 0
    for place, record in enumerate(records):
        size += _encoded_size(record)
        if size > bytes_max and place > first:
            yield first, place
            first, size = place, _encoded_size(record)
    if first < len(records):
        yield first, len(records)


def _encoded_size(record: Record | bytes) -> int:
    if isinstance(record, bytes):
        return RECORD_OVERHEAD_BYTES + len(record)
    return encoded_size(record)
