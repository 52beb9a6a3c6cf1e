"""The companion log of one partition of a queue: every change of its delivery state.

A change is written here first and applied then, so that what a consumer was told is what a
restart finds. Snapshots let it forget what lies before them.
"""

from collections.abc import Iterator

from duolog.broker.damage import past_damage
from duolog.broker.partition import Partition
from duolog.core.queues.changes import Change, decode_changes, encode_change
from duolog.model.errors import CorruptBatch
from duolog.observe.logs import get_logger
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

events = get_logger("queues")

SNAPSHOT = "delivery"
_READ_BYTES = 4 << 20
_BATCH_BYTES_MAX = 16 << 20


class Journal:
    __slots__ = ("bytes_written", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.bytes_written = 0
        """Since the last snapshot."""

    @property
    def end_offset(self) -> int:
        return self.partition.log.end_offset

    def write(self, change: Change, now_ms: int) -> int:
        """Write the change; it is durable once the high watermark reaches the returned offset.

        StorageFailed means that it was not, and never will be, written.
        """
        batch = build_batch((Record(value=encode_change(change), timestamp=now_ms),))
        partition = self.partition
        _, end_offset = partition.stage(memoryview(batch), now_ms)
        partition.write_staged(now_ms)
        self.bytes_written += len(batch)
        return end_offset

    def changes(self, from_offset: int) -> Iterator[Change]:
        """Everything written from the offset on.

        What is damaged is reported and passed over: the messages that it settled may be
        delivered again, which is better than none being delivered.
        """
        log = self.partition.log
        offset = max(from_offset, log.start_offset)
        while offset < log.end_offset:
            reached = offset
            try:
                for batch in log.batches(offset, _READ_BYTES):
                    for record in iter_records(batch, decompressed_bytes_max=_BATCH_BYTES_MAX):
                        assert record.offset is not None
                        if record.offset >= from_offset:
                            yield from decode_changes(record.value or b"")
                    reached = read_header(batch).next_offset
            except (CorruptBatch, ValueError) as error:
                offset = past_damage(log, reached)
                events.error(
                    "delivery records damaged, messages may be delivered again",
                    topic=self.partition.topic.name,
                    partition=self.partition.index,
                    first_offset=reached,
                    next_offset=offset,
                    error=str(error),
                )
            else:
                offset = reached if reached > offset else log.end_offset

    def latest_snapshot(self) -> tuple[int, bytes] | None:
        log = self.partition.log
        return log.latest_snapshot(SNAPSHOT, log.end_offset)
