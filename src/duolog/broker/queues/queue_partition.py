"""One partition of a queue: its messages, and their delivery state.

The messages are the records of a topic's partition; the pure machine in core/queues keeps their
delivery state. A change is gathered for the journal and applied at once; the journal is written
at the end of the turn, and consumers are told once that is committed. If the write fails, the state
is read again without the change (recalls.py). Everything here runs on the event loop without
awaiting.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from duolog.broker.admission import at_once
from duolog.broker.damage import past_damage
from duolog.broker.partition import Partition
from duolog.broker.queues.doubts import OnDamage, pass_over
from duolog.broker.queues.identities import MessageIds
from duolog.broker.queues.journal import Journal, refused
from duolog.broker.queues.message_reader import MessageReader
from duolog.broker.queues.progress import Progress, Tail
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.core.queues.deduplication import Deduplication
from duolog.core.queues.delivery import Delivery
from duolog.core.queues.message import delay_of, group_of, key_of
from duolog.core.queues.message_batches import build_messages, cut_into_batches
from duolog.model.errors import CorruptBatch, NotLeader, Refusal
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.records.changes import Cause, Change, Deleted, Delivered, VisibilityChanged
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

SCAN_BYTES = 4 << 20
BATCH_BYTES_MAX = 1 << 20
"""Size of a batch of messages, unless a single one is larger."""


class Trait(NamedTuple):
    """Group, delay and deduplication key of a message; most messages have none of them."""

    group: bytes | None = None
    due_ms: int = 0
    """Time until which the message is delayed; 0: not delayed."""
    key: bytes | None = None
    """Deduplication key."""


class _Appended(NamedTuple):
    first_offset: int
    next_offset: int
    traits: Mapping[int, Trait]
    """Traits of the appended messages, by offset."""
    now_ms: int


class QueuePartition:
    __slots__ = (
        "_appended",
        "_clock",
        "_on_ready",
        "armed_ms",
        "burial_ms",
        "data",
        "deduplication",
        "delivery",
        "enqueued_since_snapshot",
        "ids",
        "is_burying",
        "is_gone",
        "is_quiet",
        "journal",
        "on_damage",
        "own_offset",
        "progress",
        "reader",
        "refuses_changes",
        "upkeep_ms",
    )

    def __init__(
        self,
        data: Partition,
        delivery: Delivery,
        deduplication: Deduplication,
        clock: SteadyClock,
        on_ready: Callable[["QueuePartition"], None],
    ) -> None:
        self.data = data
        self.journal: Journal | None = None
        """The journal; None until the first change, which many queues never have."""
        self.delivery = delivery
        self.deduplication = deduplication
        self.reader = MessageReader(data)
        self.on_damage: OnDamage = pass_over
        """Called for damage met while messages are scanned."""
        self.ids = MessageIds(data.topic.id, data.index)
        self.armed_ms: int | None = None
        """Time at which the timer rings for this partition; None if it is not armed."""
        self.upkeep_ms = 0
        """Time of the next upkeep."""
        self.is_quiet = False
        """True if nothing has happened since the timer last rang."""
        self.is_gone = False
        """True once the queue was deleted, or another node leads the partition."""
        self.refuses_changes = False
        """True if gone, or while the state may have changes that could not be written."""
        self.progress = Progress()
        self.own_offset = data.log.end_offset
        """Offset from which on all messages were appended by this object itself."""
        self.is_burying = False
        """True while dead messages are being moved to the dead-letter queue."""
        self.burial_ms = 0
        """Earliest time of the next move of dead messages: the back-off after a failure."""
        self.enqueued_since_snapshot = 0
        """Number of messages that the next leader has to read, as far as this one knows."""
        self._clock = clock
        self._on_ready = on_ready
        self._appended: list[_Appended] = []
        """Appends whose messages are not committed yet, in order of offsets."""

    def attach(self, journal: Journal, recall: Callable[[], None]) -> None:
        """Attaches the journal; `recall` takes back changes that could not be written."""
        journal.on_failure = recall
        self.journal = journal

    @property
    def is_unsettled(self) -> bool:
        """True while the state may have changes that could not be written."""
        return self.journal is not None and self.journal.is_refused

    def append(
        self, records: Sequence[Record | bytes], traits: Mapping[int, Trait], now_ms: int
    ) -> None:
        """Appends messages sent to this queue, in as few batches as their size allows.

        Bytes stand for a record that has only this value; `traits` are by index into `records`.
        After a Refusal, messages from the log's end on are not, and never will be, in the log.
        """
        data = self.data
        data.check_in_sync()
        bytes_max = min(BATCH_BYTES_MAX, data.bytes_max)
        for first, last in cut_into_batches(records, bytes_max):
            shift = data.log.end_offset - first
            of_batch = traits and {
                place + shift: trait for place, trait in traits.items() if first <= place < last
            }
            self._append(records[first:last], of_batch, now_ms)

    def _append(
        self, records: Sequence[Record | bytes], traits: Mapping[int, Trait], now_ms: int
    ) -> None:
        data = self.data
        first_offset = data.log.end_offset
        batch = build_messages(records, now_ms, is_stamped=data.stamps_append_time)
        # Noted before the write, because the messages may be committed at once.
        next_offset = first_offset + len(records)
        self._appended.append(_Appended(first_offset, next_offset, traits, now_ms))
        for offset, trait in traits.items():
            if trait.key is not None:
                self.deduplication.remember(trait.key, offset, now_ms)
        produced = data.produced
        if produced.is_used:
            # Excluded from the Kafka producers' usage: the SQS door meters its own.
            produced.skip(next_offset, len(batch))
        try:
            data.append_alone(memoryview(batch), now_ms, is_own=True)
        except Refusal:
            if produced.is_used:
                produced.unskip(len(batch))
            self._appended.pop()
            self.deduplication.forget_from(first_offset)
            raise

    def advanced(self) -> None:
        """Enqueues newly committed messages, sent to this queue or by Kafka producers."""
        delivery = self.delivery
        end_offset = self.data.high_watermark
        before = delivery.end_offset
        if end_offset <= before:
            return
        appended = self._appended
        while delivery.end_offset < end_offset:
            if not appended or appended[0].first_offset >= end_offset:
                self._take_in(end_offset)
            elif appended[0].first_offset > delivery.end_offset:
                self._take_in(appended[0].first_offset)
            else:
                self._enqueue(appended.pop(0))
        self.enqueued_since_snapshot += end_offset - before
        self._on_ready(self)

    def _enqueue(self, appended: _Appended) -> None:
        delivery = self.delivery
        first_offset, next_offset, traits, now_ms = appended
        for offset, trait in traits.items():
            if first_offset < offset:
                delivery.enqueue_range(first_offset, offset, now_ms)
            delivery.enqueue(offset, now_ms, group=trait.group, due_ms=trait.due_ms)
            first_offset = offset + 1
        if first_offset < next_offset:
            delivery.enqueue_range(first_offset, next_offset, now_ms)

    def _take_in(self, end_offset: int) -> None:
        """Enqueues messages of Kafka producers; reads them only if groups matter (FIFO)."""
        if self.delivery.rules.fifo:
            self.scan(end_offset, is_new=True)
        else:
            self.own_offset = max(self.own_offset, end_offset)
            self.delivery.enqueue_range(self.delivery.end_offset, end_offset, self._clock.now_ms())

    def scan(self, end_offset: int, *, is_new: bool) -> None:
        at_once(self.scanning(end_offset, is_new=is_new))

    def scanning(self, end_offset: int, *, is_new: bool) -> Generator[None, None, None]:
        """Enqueues the log's messages up to the offset by reading every record, step by step.

        New messages count as sent now, old ones at their timestamp. But no message expires by a
        timestamp that a Kafka producer may have made up: then it counts as sent now, too. Closed
        between two steps, it leaves a state from which another scan goes on.
        """
        self.own_offset = max(self.own_offset, end_offset)
        delivery = self.delivery
        rules = delivery.rules
        now_ms = self._clock.now_ms()
        is_stamped = self.data.stamps_append_time
        for record in self.records(delivery.end_offset, end_offset):
            yield
            assert record.offset is not None
            sent_ms = now_ms if is_new else min(record.timestamp, now_ms)
            if not is_stamped and sent_ms <= now_ms - rules.retention_ms:
                sent_ms = now_ms
            delay_ms = delay_of(record)
            delivery.enqueue(
                record.offset,
                sent_ms,
                group=group_of(record, fifo=rules.fifo),
                due_ms=sent_ms + delay_ms if delay_ms else 0,
            )
            if rules.fifo:
                self.remember(record, now_ms, may_be_late=is_new)
            if not is_new:
                self.enqueued_since_snapshot += 1
        # Records missing at the end have expired, were compacted away, or are damaged.
        delivery.skip_to(end_offset)

    def remember(self, record: Record, now_ms: int, *, may_be_late: bool = False) -> None:
        """Remembers the deduplication key of a message that is in the log; `may_be_late`: those of
        younger messages may be known already."""
        assert record.offset is not None
        key = key_of(record, by_group=self.progress.scope == "messageGroup")
        if key is not None:
            # A Kafka producer may have made up a time that is yet to come.
            sent_ms = min(record.timestamp, now_ms)
            if may_be_late:
                self.deduplication.remember_late(key, record.offset, sent_ms)
            else:
                self.deduplication.remember(key, record.offset, sent_ms)

    @property
    def tail(self) -> Tail:
        """What the next leader has to read after the last snapshot."""
        journal = self.journal
        if journal is None:
            return Tail(self.enqueued_since_snapshot)
        return Tail(self.enqueued_since_snapshot, journal.bytes_written)

    @tail.setter
    def tail(self, tail: Tail) -> None:
        self.enqueued_since_snapshot = tail.messages
        if self.journal is not None:
            self.journal.bytes_written = tail.journal_bytes

    def records(self, first_offset: int, end_offset: int) -> Iterator[Record]:
        """Yields the readable records of a range; damaged ones are passed to `on_damage`."""
        log = self.data.log
        offset = max(first_offset, log.start_offset)
        while offset < end_offset:
            reached = offset
            try:
                for batch in log.batches(offset, SCAN_BYTES):
                    for record in iter_records(
                        batch, decompressed_bytes_max=STORED_BATCH_OPENED_BYTES_MAX
                    ):
                        assert record.offset is not None
                        if record.offset >= end_offset:
                            return
                        if record.offset >= offset:
                            yield record
                    reached = read_header(batch).next_offset
            except CorruptBatch:
                self.on_damage(reached)
                reached = past_damage(log, reached)
            if reached == offset:
                return
            offset = reached

    def deliver(
        self,
        offsets: Sequence[int],
        now_ms: int,
        deadline_ms: int,
        *,
        attempt: bytes = b"",
        once: bool = False,
    ) -> int:
        """Records a delivery. `once`: the messages are done at once (at-most-once delivery)."""
        if once:
            return self.change(Deleted(offsets, Cause.HANDED_OUT))
        return self.change(Delivered(offsets, now_ms, deadline_ms, attempt))

    def release(self, deliveries: Sequence[tuple[int, int]], now_ms: int) -> None:
        """Makes messages visible again whose consumer left before the answer.

        Names them by offset and receive count: a later delivery to somebody else stays.
        """
        if self.is_gone or self.is_unsettled:
            return
        for offset, receive_count in deliveries:
            held = self.delivery.held(offset)
            if held is not None and held.is_in_flight and held.receive_count == receive_count:
                self.change(VisibilityChanged(offset, now_ms))
        if self.delivery.tick(now_ms) or self.delivery.ready_count:
            self._on_ready(self)

    def has_group(self, group: bytes) -> bool:
        """True if a message of the group is undone, or appended but not committed yet."""
        return self.delivery.has_group(group) or any(
            trait.group == group
            for appended in self._appended
            for trait in appended.traits.values()
        )

    def undone_ranges(self, first_offset: int, next_offset: int) -> Iterator[tuple[int, int]]:
        """Yields ranges of undone messages, from the current delivery state: looked up at each
        call, since a recall may replace it."""
        if self.is_unsettled:
            return iter([(first_offset, next_offset)])
        return self.delivery.undone_ranges(first_offset, next_offset)

    def change(self, change: Change) -> int:
        """Applies a change, to be written at the end of this turn. Returns the journal offset
        that must be committed before anybody is told.

        Raises NotLeader if this object no longer serves the partition: should this node lead it
        again, a new object does, which would not know of the change. Raises StorageFailed while
        the state may have changes that could not be written.
        """
        if self.refuses_changes:
            raise not_led() if self.is_gone else refused()
        journal = self.journal
        assert journal is not None, "a queue opens its journals before it changes anything"
        end_offset = journal.write(change)
        self.delivery.apply(change)
        return end_offset


def not_led() -> NotLeader:
    return NotLeader("This node does not lead the partition of the queue.")
