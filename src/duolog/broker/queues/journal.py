"""The companion log of one partition of a queue: every change of its delivery state.

A change is written here first and applied then, so that what a consumer was told is what a
restart finds. Snapshots let it forget what lies before them.
"""

from collections.abc import Callable, Iterator

from duolog.broker.damage import past_damage
from duolog.broker.partition import Partition
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.turn import Turn
from duolog.core.queues.changes import Change, decode_changes, encode_change
from duolog.model.errors import CorruptBatch, Refusal
from duolog.observe.logs import get_logger
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

events = get_logger("queues")

SNAPSHOT = "delivery"
RETRY_MS = 2_000
_READ_BYTES = 4 << 20
_BATCH_BYTES_MAX = 16 << 20


class Journal:
    __slots__ = (
        "_clock",
        "_gathered",
        "_turn",
        "bytes_written",
        "on_failure",
        "partition",
        "retry_ms",
    )

    def __init__(self, partition: Partition, clock: SteadyClock, turn: Turn) -> None:
        self.partition = partition
        self.bytes_written = 0
        """Since the last snapshot."""
        self._clock = clock
        self._turn = turn
        self.on_failure: Callable[[], None] = lambda: None
        """Takes back what was decided since the last write."""
        self._gathered: list[bytes] = []
        self.retry_ms = 0
        """Not before then is anything decided: taking it back costs more than the write."""

    @property
    def end_offset(self) -> int:
        """Where the next change is written. What one turn gathers is one record."""
        return self.partition.log.end_offset + bool(self._gathered)

    def write(self, change: Change) -> int:
        """Write the change with this turn; durable once the high watermark reaches the offset.

        When that fails, everybody who waits for the offset is told.
        """
        if not self._gathered:
            self._turn.write(self)
        self._gathered.append(encode_change(change))
        return self.partition.log.end_offset + 1

    def flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        if not gathered:
            return
        partition = self.partition
        now_ms = self._clock.now_ms()
        batch = build_batch((Record(value=b"".join(gathered), timestamp=now_ms),))
        try:
            partition.append_alone(memoryview(batch), now_ms)
        except Refusal as refusal:
            self.retry_ms = now_ms + RETRY_MS
            # What was decided is not written, so it must not stay decided.
            self.on_failure()
            partition.refuse_waiting(refusal)
        else:
            self.bytes_written += len(batch)

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

    def latest_snapshot(self, at_most: int) -> tuple[int, bytes] | None:
        """The newest that is intact, and not past the offset."""
        return self.partition.log.latest_snapshot(SNAPSHOT, at_most)
