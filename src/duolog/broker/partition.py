"""The leader's hot path of one partition: checking and appending batches.

Everything here runs on the event loop without awaiting between a check and its effect, so
there is nothing to lock. An API stages the batches of one read event, then writes them with
one call; waiting for durability is a queue ordered by offset. Roles are in leading.py.
"""

from copy import copy

from duolog.broker.catalog import Topic
from duolog.broker.leading import LeadingReplica
from duolog.broker.replica import Parts
from duolog.model.errors import (
    DiskFull,
    FencedLeaderEpoch,
    InvalidTimestamp,
    NotEnoughReplicas,
    OutOfOrderSequence,
    Refusal,
    StorageFailed,
    TransactionsUnsupported,
    UnknownLeaderEpoch,
)
from duolog.model.limits import TIMESTAMP_MS_MAX
from duolog.records.header import (
    LENGTH_PREFIX_BYTES,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    read_header,
)
from duolog.records.patch import stamp_append_time
from duolog.records.validation import check_batch, check_records

ANY_EPOCH = -1

RETRY_AFTER_MS = 100
"""Time for which a partition refuses writes after one has failed."""

REFUSED_MS = 30_000
"""Time for which what was sent right behind a refused batch may still arrive."""

_BATCH_LENGTH, _ATTRIBUTES, _LAST_OFFSET_DELTA, _MAX_TIMESTAMP, _PRODUCER_ID = 1, 5, 6, 8, 9
"""Indexes of BatchHeader's hot fields: indexing is faster than access by name."""


class Partition(LeadingReplica):
    __slots__ = (
        "_ahead_ms_max",
        "_decompressed_bytes_max",
        "_examines",
        "_examines_own",
        "_refused",
        "_refused_ms",
        "bytes_max",
        "stamps_append_time",
    )

    def __init__(self, parts: Parts, *, decompressed_bytes_max: int) -> None:
        super().__init__(parts)
        self._decompressed_bytes_max = decompressed_bytes_max
        self._refused: Refusal | None = None
        """Last refusal for a reason that passes."""
        self._refused_ms = 0
        self.configure(parts.topic)

    def configure(self, topic: Topic) -> None:
        """Applies the topic's configuration, at first and after changes."""
        config = topic.config
        self.topic = topic
        self.log.config = config
        self._fsync = config.durability == "fsync"
        self.stamps_append_time = config.timestamp_type == "LogAppendTime"
        self._ahead_ms_max = config.timestamp_after_max_ms
        self.bytes_max = config.max_message_bytes
        self._examines = (
            config.cleanup_compact
            or self.stamps_append_time
            or config.timestamp_before_max_ms < TIMESTAMP_MS_MAX
        )
        self._examines_own = config.cleanup_compact
        self._settle_writes()
        if self.leadership is not None:
            self.leadership.require(config.min_insync_replicas)
            self.recount()

    def check_epoch(self, epoch: int) -> None:
        """Refuses a request that carries an older or a newer leader epoch than this one."""
        if epoch == ANY_EPOCH or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise FencedLeaderEpoch(f"the leader epoch is {self.leader_epoch}, not {epoch}")
        raise UnknownLeaderEpoch(f"the leader epoch is still {self.leader_epoch}, not {epoch}")

    def check_in_sync(self) -> None:
        """Raises NotEnoughReplicas if fewer than min.insync.replicas are in sync (acks=all)."""
        leadership = self.leadership
        least = 1 if leadership is None else leadership.min_in_sync
        if self.in_sync_count < least:
            self.check_leading()
            refusal = NotEnoughReplicas("fewer replicas are in sync than min.insync.replicas")
            self._note_refused(refusal, self._clock.now_ms())
            raise refusal

    def stage(self, batch: memoryview, now_ms: int) -> tuple[int, int]:
        """Checks a batch and queues it for `write_staged`.

        Returns its base offset, and the offset that the high watermark must reach before it
        may be acknowledged. A duplicate is not written again; the original's offset is returned.
        """
        header = self._admit(batch, now_ms)
        if header[_PRODUCER_ID] >= 0:
            try:
                known = self._producers.find_duplicate(header)
            except OutOfOrderSequence as disorder:
                raise self._behind_refused(disorder, now_ms) from None
            if known is not None:
                return known, known + header.last_offset_delta + 1
            base_offset = self.log.stage(batch, header, self.leader_epoch)
            self._producers.replay(header, base_offset, now_ms)
        else:
            base_offset = self.log.stage(batch, header, self.leader_epoch)
        self.batches_in += 1
        self.bytes_in += len(batch)
        return base_offset, base_offset + header[_LAST_OFFSET_DELTA] + 1

    def append_alone(
        self, batch: memoryview, now_ms: int, *, is_own: bool = False
    ) -> tuple[int, int]:
        """Does `stage` and `write_staged` in one, for the only batch of a read event.

        `is_own`: this node has just built the batch, with a valid checksum and timestamps, so
        most checks are skipped.
        """
        header = self._admit(batch, now_ms, is_own=is_own)
        is_numbered = header[_PRODUCER_ID] >= 0
        if is_numbered:
            try:
                known = self._producers.find_duplicate(header)
            except OutOfOrderSequence as disorder:
                raise self._behind_refused(disorder, now_ms) from None
            if known is not None:
                return known, known + header.last_offset_delta + 1
        try:
            base_offset, end_offset = self.log.append(batch, header, self.leader_epoch, now_ms)
        except StorageFailed as failure:
            base_offset, end_offset = self._append_again(failure, batch, header, now_ms)
        if is_numbered:
            self._producers.replay(header, base_offset, now_ms)
        self.batches_in += 1
        self.bytes_in += header[_BATCH_LENGTH] + LENGTH_PREFIX_BYTES
        if self._defers:
            self._writes.request(self)
        elif self._waiting or self._readers:
            self._advance(end_offset)
        else:
            self.high_watermark = end_offset
        return base_offset, end_offset

    def _append_again(
        self, failure: StorageFailed, batch: memoryview, header: BatchHeader, now_ms: int
    ) -> tuple[int, int]:
        """Appends what the full disk refused, if the reserve has room for it; else raises."""
        if isinstance(failure, DiskFull) and self._makes_room():
            try:
                return self.log.append(batch, header, self.leader_epoch, now_ms)
            except StorageFailed as again:
                failure = again
        self._write_failed(failure, now_ms)
        raise failure

    def _admit(self, batch: memoryview, now_ms: int, *, is_own: bool = False) -> BatchHeader:
        """Checks whether a batch may be appended, apart from duplicates; returns its header."""
        if self._failure is not None:
            self._check_failure(now_ms)
        examines = self._examines
        if is_own and len(batch) <= self.bytes_max:
            header = read_header(batch)
            examines = self._examines_own
        else:
            header = check_batch(batch, self.bytes_max)
        if examines:
            header = self._examine(batch, header, now_ms)
        elif header[_MAX_TIMESTAMP] > now_ms + self._ahead_ms_max:
            raise _too_far_ahead(header, self._ahead_ms_max)
        if header[_ATTRIBUTES] & TRANSACTIONAL_BIT:
            raise TransactionsUnsupported("transactions are not supported")
        return header

    def _examine(self, batch: memoryview, header: BatchHeader, now_ms: int) -> BatchHeader:
        """Applies what only some topics ask for: keys, LogAppendTime, bounds of timestamps."""
        config = self.topic.config
        if config.cleanup_compact:
            check_records(
                batch,
                header,
                decompressed_bytes_max=self._decompressed_bytes_max,
                keys_required=True,
            )
        if self.stamps_append_time:
            stamp_append_time(batch, now_ms)
            return read_header(batch)
        if header.max_timestamp > now_ms + config.timestamp_after_max_ms:
            raise _too_far_ahead(header, config.timestamp_after_max_ms)
        if (
            header.base_timestamp != NO_TIMESTAMP
            and now_ms - header.base_timestamp > config.timestamp_before_max_ms
        ):
            raise InvalidTimestamp(
                f"timestamp {header.base_timestamp} is more than "
                f"{config.timestamp_before_max_ms} ms old"
            )
        return header

    def write_staged(self, now_ms: int) -> None:
        """Writes the staged batches. StorageFailed: none of them will ever be read."""
        try:
            self.log.write_staged(now_ms)
        except StorageFailed as failure:
            self.produced.discount(*self.log.dropped)
            if isinstance(failure, DiskFull):
                self._makes_room()
            self._write_failed(failure, now_ms)
            raise
        if self._defers:
            self._writes.request(self)
        else:
            self._advance(self.log.end_offset)

    def _note_refused(self, refusal: Refusal, now_ms: int) -> None:
        # A copy has no traceback, which would keep what the request held.
        self._refused = copy(refusal)
        self._refused_ms = now_ms

    def _behind_refused(self, disorder: OutOfOrderSequence, now_ms: int) -> Refusal:
        """The refusal of a batch that does not follow the last one of its producer.

        A producer sends the next batches before it hears that one was refused. Were these told
        that they are out of order, librdkafka would begin a new epoch, and send again, under
        numbers that nobody can recognise, whatever timed out meanwhile on any partition, stored or
        not. Refused like the one before them they come again behind it.
        """
        refused = self._refused
        if refused is None or now_ms - self._refused_ms > REFUSED_MS:
            return disorder
        return refused.with_traceback(None)

    def _write_failed(self, failure: StorageFailed, now_ms: int) -> None:
        self._note_refused(failure, now_ms)
        self._recall_producers()
        if self._failure is None:
            self._failure = failure
            self._retry_ms = now_ms + RETRY_AFTER_MS

    def _check_failure(self, now_ms: int) -> None:
        """Refuses while the partition is fenced, or RETRY_AFTER_MS after a failed write.

        Each failed write costs a rebuild of the producers' state, and on a full disk all
        clients retry at once.
        """
        failure = self._failure
        assert failure is not None
        if self._retry_ms is None or now_ms < self._retry_ms:
            self._note_refused(failure, now_ms)
            raise failure.with_traceback(None)
        self._failure = self._retry_ms = None

    async def append(self, batch: bytearray) -> int:
        """Appends one batch that this node built; returns its base offset once committed."""
        base_offset, end_offset = self.append_alone(memoryview(batch), self._clock.now_ms())
        await self.until_committed(end_offset)
        return base_offset


def _too_far_ahead(header: BatchHeader, ahead_ms_max: int) -> InvalidTimestamp:
    return InvalidTimestamp(
        f"timestamp {header.max_timestamp} is more than {ahead_ms_max} ms ahead"
    )
