"""One partition that this broker leads: the only writer of its log.

Everything here runs on the event loop without awaiting between a check and its effect, so
there is nothing to lock. A door stages the batches of one read event, then writes them with
one call; waiting for durability is a queue ordered by offset.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec

from duolog.broker.catalog import Topic
from duolog.broker.flusher import Flusher
from duolog.broker.waiting import FutureWaiter, Reader, Waiter
from duolog.core.producers import ProducerTable
from duolog.log.log import Log
from duolog.log.reader import LogSlice
from duolog.model.errors import (
    FencedLeaderEpoch,
    InvalidTimestamp,
    NotEnoughReplicas,
    OffsetOutOfRange,
    Refusal,
    StorageFailed,
    TransactionsUnsupported,
    UnknownLeaderEpoch,
)
from duolog.model.limits import TIMESTAMP_MS_MAX
from duolog.ports.clock import Clock
from duolog.ports.disk import Syncable
from duolog.records.header import (
    LENGTH_PREFIX_BYTES,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    read_header,
)
from duolog.records.patch import stamp_append_time
from duolog.records.validation import check_batch, check_records

PRODUCERS_SNAPSHOT = "producers"
ANY_EPOCH = -1

SNAPSHOT_AFTER_BATCHES = 1_000
"""Batches after which a partition's producer state is written down again: what a restart
has to replay at most, but for what arrived since the last checkpoint."""

RETRY_AFTER_MS = 100
"""How long a partition refuses writes after one has failed."""

_BATCH_LENGTH, _ATTRIBUTES, _LAST_OFFSET_DELTA, _MAX_TIMESTAMP, _PRODUCER_ID = 1, 5, 6, 8, 9
"""Places in a BatchHeader: what every batch is asked for is found faster by place than by name."""


class Partition:
    __slots__ = (
        "_ahead_ms_max",
        "_bytes_max",
        "_clock",
        "_decompressed_bytes_max",
        "_examines",
        "_failure",
        "_flusher",
        "_fsync",
        "_producers",
        "_readers",
        "_retry_ms",
        "_snapshot",
        "_waiting",
        "batches_since_snapshot",
        "bytes_in",
        "bytes_out",
        "high_watermark",
        "in_sync_count",
        "index",
        "leader_epoch",
        "log",
        "stamps_append_time",
        "topic",
    )

    def __init__(
        self,
        topic: Topic,
        index: int,
        log: Log,
        *,
        leader_epoch: int,
        flusher: Flusher,
        clock: Clock,
        decompressed_bytes_max: int,
    ) -> None:
        self.index = index
        self.log = log
        self.leader_epoch = leader_epoch
        self.high_watermark = log.end_offset
        """Readers see offsets below it. It never goes back."""
        self.in_sync_count = 1
        self.batches_since_snapshot = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self._flusher = flusher
        self._clock = clock
        self._decompressed_bytes_max = decompressed_bytes_max
        self._failure: Refusal | None = None
        self._retry_ms: int | None = None
        """When writing may be tried again; None if never."""
        self._waiting: deque[tuple[int, Waiter]] = deque()
        self._readers: dict[Reader, None] = {}
        self._snapshot: tuple[int, bytes] | None = None
        """Of the producers, at that offset; not written down yet."""
        self._producers = self._rebuild_producers()
        self.configure(topic)

    def configure(self, topic: Topic) -> None:
        """Follow a change of the topic's configuration."""
        config = topic.config
        self.topic = topic
        self.log.config = config
        self._fsync = config.durability == "fsync"
        self.stamps_append_time = config.timestamp_type == "LogAppendTime"
        self._ahead_ms_max = config.timestamp_after_max_ms
        self._bytes_max = config.max_message_bytes
        self._examines = (
            config.cleanup_compact
            or self.stamps_append_time
            or config.timestamp_before_max_ms < TIMESTAMP_MS_MAX
        )

    def check_epoch(self, epoch: int) -> None:
        """Refuse a request that knows an older or a newer leader than there is."""
        if epoch == ANY_EPOCH or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise FencedLeaderEpoch(f"the leader epoch is {self.leader_epoch}, not {epoch}")
        raise UnknownLeaderEpoch(f"the leader epoch is still {self.leader_epoch}, not {epoch}")

    def check_in_sync(self) -> None:
        """Refuse what has to be on more replicas than there are in sync."""
        if self.in_sync_count < self.topic.config.min_insync_replicas:
            raise NotEnoughReplicas("fewer replicas are in sync than min.insync.replicas")

    def stage(self, batch: memoryview, now_ms: int) -> tuple[int, int]:
        """Check a batch and queue it for `write_staged`.

        Returns its base offset, and the offset that the high watermark must reach before it
        may be acknowledged. A duplicate is not written again and gets its first offset.
        """
        header = self._admit(batch, now_ms)
        if header[_PRODUCER_ID] >= 0:
            known = self._producers.find_duplicate(header)
            if known is not None:
                return known, known + header.last_offset_delta + 1
            base_offset = self.log.stage(batch, header, self.leader_epoch)
            self._producers.replay(header, base_offset, now_ms)
        else:
            base_offset = self.log.stage(batch, header, self.leader_epoch)
        self.batches_since_snapshot += 1
        self.bytes_in += len(batch)
        return base_offset, base_offset + header[_LAST_OFFSET_DELTA] + 1

    def append_alone(self, batch: memoryview, now_ms: int) -> tuple[int, int]:
        """As `stage` and `write_staged`, for the only batch of a read event."""
        header = self._admit(batch, now_ms)
        is_numbered = header[_PRODUCER_ID] >= 0
        if is_numbered:
            known = self._producers.find_duplicate(header)
            if known is not None:
                return known, known + header.last_offset_delta + 1
        try:
            base_offset, end_offset = self.log.append(batch, header, self.leader_epoch, now_ms)
        except StorageFailed as failure:
            self._write_failed(failure, now_ms)
            raise
        if is_numbered:
            self._producers.replay(header, base_offset, now_ms)
        self.batches_since_snapshot += 1
        self.bytes_in += header[_BATCH_LENGTH] + LENGTH_PREFIX_BYTES
        if self._fsync:
            self._flusher.request(self)
        elif self._waiting or self._readers:
            self._advance(end_offset)
        else:
            self.high_watermark = end_offset
        return base_offset, end_offset

    def _admit(self, batch: memoryview, now_ms: int) -> BatchHeader:
        """The header of a batch that may be appended, unless its producer sent it before."""
        if self._failure is not None:
            self._check_failure(now_ms)
        header = check_batch(batch, self._bytes_max)
        if self._examines:
            header = self._examine(batch, header, now_ms)
        elif header[_MAX_TIMESTAMP] > now_ms + self._ahead_ms_max:
            raise _too_far_ahead(header, self._ahead_ms_max)
        if header[_ATTRIBUTES] & TRANSACTIONAL_BIT:
            raise TransactionsUnsupported("transactions are not supported")
        return header

    def _examine(self, batch: memoryview, header: BatchHeader, now_ms: int) -> BatchHeader:
        """What only some topics want: opened batches, stamped or bounded times."""
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
        """Write what was staged. StorageFailed means that none of it will ever be read."""
        try:
            self.log.write_staged(now_ms)
        except StorageFailed as failure:
            self._write_failed(failure, now_ms)
            raise
        if self._fsync:
            self._flusher.request(self)
        else:
            self._advance(self.log.end_offset)

    def _write_failed(self, failure: StorageFailed, now_ms: int) -> None:
        self._recall_producers()
        if self._failure is None:
            self._failure = failure
            self._retry_ms = now_ms + RETRY_AFTER_MS

    def _check_failure(self, now_ms: int) -> None:
        """Refuse while the partition is fenced, or a write has failed a moment ago.

        Each failed write costs reading the producers' state again, and on a full disk all
        clients try again at once.
        """
        failure = self._failure
        assert failure is not None
        if self._retry_ms is None or now_ms < self._retry_ms:
            raise failure.with_traceback(None)
        self._failure = self._retry_ms = None

    def wait_committed(self, end_offset: int, waiter: Waiter) -> None:
        """Tell the waiter once the high watermark, now below the offset, has reached it."""
        self._waiting.append((end_offset, waiter))

    async def append(self, batch: bytearray) -> int:
        """Append one batch of our own and return its base offset once it is committed."""
        now_ms = self._clock.now_ms()
        base_offset, end_offset = self.stage(memoryview(batch), now_ms)
        self.write_staged(now_ms)
        if self.high_watermark < end_offset:
            committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.wait_committed(end_offset, FutureWaiter(committed))
            await committed
        return base_offset

    def refuse_waiting(self, failure: Refusal) -> None:
        """Tell those who wait for what could not be written."""
        end_offset = self.log.end_offset
        refused = [waiter for offset, waiter in self._waiting if offset > end_offset]
        self._waiting = deque(each for each in self._waiting if each[0] <= end_offset)
        for waiter in refused:
            waiter.settle(failure)

    def read(self, offset: int, bytes_max: int) -> LogSlice | None:
        """Whole batches from `offset` on, up to the high watermark; None if there is none yet."""
        if offset >= self.high_watermark:
            if offset > self.log.end_offset:
                raise OffsetOutOfRange(f"offset {offset} is past the end {self.log.end_offset}")
            return None
        try:
            return self.log.read(offset, bytes_max, self.high_watermark)
        except OSError as error:
            raise _unreadable(error) from error

    def load(self, piece: LogSlice) -> bytes:
        """The bytes of what `read` found."""
        try:
            data = piece.file.pread(piece.length, piece.position)
        except OSError as error:
            raise _unreadable(error) from error
        if len(data) != piece.length:
            raise StorageFailed("the log's file is shorter than it was")
        return data

    def add_reader(self, reader: Reader) -> None:
        self._readers[reader] = None

    def remove_reader(self, reader: Reader) -> None:
        self._readers.pop(reader, None)

    def begin_sync(self) -> tuple[list[Syncable], int]:
        return self.log.begin_sync()

    def synced(self, end_offset: int) -> None:
        self.log.finish_sync(end_offset)
        self._advance(end_offset)

    def _advance(self, offset: int) -> None:
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        waiting = self._waiting
        while waiting and waiting[0][0] <= offset:
            waiting.popleft()[1].settle(None)
        if self._readers:
            self._wake_readers()

    def _wake_readers(self) -> None:
        for reader in tuple(self._readers):
            reader.advanced()

    def fence(self, failure: Refusal, waiting: Refusal | None = None) -> None:
        """Take no more writes. Who waits is told `waiting`, or else the failure."""
        self._failure = failure
        self._retry_ms = None
        while self._waiting:
            self._waiting.popleft()[1].settle(waiting or failure)
        self._wake_readers()

    def take_snapshot(self) -> Callable[[], None] | None:
        """The producers' state, as work that writes it down and may be offloaded.

        None while it is not all durable yet, then it is to be asked for again: a snapshot
        must not know more than the log does after a crash.
        """
        if self._snapshot is None:
            self._snapshot = self.log.end_offset, self._producers.snapshot()
            self.batches_since_snapshot = 0
        offset, state = self._snapshot
        if self.log.durable_offset < offset:
            return None
        self._snapshot = None
        return partial(self.log.write_snapshot, PRODUCERS_SNAPSHOT, offset, state)

    @property
    def wants_snapshot(self) -> bool:
        return self._snapshot is not None or self.batches_since_snapshot >= SNAPSHOT_AFTER_BATCHES

    def expire_producers(self, before_ms: int) -> None:
        self._producers.expire(before_ms)

    def _recall_producers(self) -> None:
        """Forget what producers sent and the log does not have.

        Where that cannot be found out, a repetition could not be told from a new batch; where
        the write could not be undone, a sync may have failed unseen. Both end the directory.
        """
        failure = self.log.failure
        try:
            self._producers = self._rebuild_producers()
        except OSError as error:
            failure = failure or error
        if failure is not None:
            self._flusher.give_up(failure)

    def _rebuild_producers(self) -> ProducerTable:
        found = self.log.latest_snapshot(PRODUCERS_SNAPSHOT, self.log.end_offset)
        offset, table = self.log.start_offset, ProducerTable()
        if found is not None:
            try:
                table = ProducerTable.from_snapshot(found[1])
                offset = max(offset, found[0])
            except msgspec.DecodeError:
                table = ProducerTable()
        now_ms = self._clock.now_ms()
        for header in self.log.headers(offset):
            table.replay(header, header.base_offset, now_ms)
        return table


def _unreadable(error: OSError) -> StorageFailed:
    return StorageFailed(f"the disk failed: {error.strerror or error}")


def _too_far_ahead(header: BatchHeader, ahead_ms_max: int) -> InvalidTimestamp:
    return InvalidTimestamp(
        f"timestamp {header.max_timestamp} is more than {ahead_ms_max} ms ahead"
    )
