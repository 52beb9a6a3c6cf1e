"""Recovers the delivery state of a queue's partition from its messages and its journal.

Loads the newest snapshot, enqueues the messages after it, and applies the changes after it. The
journal can know messages that are not there: in `os` mode a power cut may have taken them, and
after an unclean election the leader may never have had them. Their state must not be taken for
that of the messages that get their offsets next. So each journal record names the messages that
it knew, by end offset and leader epoch; and if it knew too many, a new snapshot is made durable
before the partition is served, because the leader epoch of a sole node never changes.
"""

from collections.abc import Generator

from duolog.broker.admission import Admission, at_once
from duolog.broker.flusher import Flusher
from duolog.broker.partition import Partition
from duolog.broker.queues.journal import Journal, JournalEntry
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.snapshots import SnapshotWriting, snapshots
from duolog.config.queue import QueueConfig
from duolog.core.queues.clipping import clip
from duolog.core.queues.deduplication import (
    DEDUPLICATION_MS,
    Deduplication,
    deduplication_key,
)
from duolog.core.queues.delivery import Delivery
from duolog.core.queues.message import deduplication_id_of, group_of, moved_key
from duolog.core.queues.rules import DeliveryRules
from duolog.model.errors import StorageFailed
from duolog.observe.logs import get_logger
from duolog.records.changes import Change, Trimmed, decode_changes
from duolog.records.journal_head import NO_OFFSET, JournalHead
from duolog.records.record import Record

IN_FLIGHT_MAX = 120_000

log = get_logger("queues")


def rules_of(config: QueueConfig) -> DeliveryRules:
    return DeliveryRules(
        fifo=config.fifo,
        retention_ms=config.message_retention_seconds * 1000,
        in_flight_max=IN_FLIGHT_MAX,
        receive_count_max=None if config.redrive is None else config.redrive.max_receive_count,
    )


async def open_state(
    partition: QueuePartition,
    config: QueueConfig,
    admission: Admission,
    flusher: Flusher,
    now_ms: int,
) -> None:
    """Recovers the delivery state of a partition, all of whose messages are committed.

    Reads while admitted, and rests. Raises Refusal if a necessary snapshot cannot be written.
    """
    async with admission.admitted() as budget:
        knows_too_much = load(partition, config, now_ms)
        before = partition.delivery.end_offset
        while partition.delivery.end_offset < partition.data.high_watermark:
            # More is committed while this rests.
            await budget.run(partition.scanning(partition.data.high_watermark, is_new=False))
        partition.enqueued_since_snapshot = partition.delivery.end_offset - before
        knows_too_much |= await budget.run(_settling(partition, config, now_ms))
    journal = partition.journal
    if journal is not None:
        journal.snapshot_offset = partition.loaded_offset
        if knows_too_much:
            await _write_anew(journal, partition.delivery, flusher)
            partition.enqueued_since_snapshot = 0


async def _write_anew(journal: Journal, delivery: Delivery, flusher: Flusher) -> None:
    """Writes a durable snapshot, so that recovery never reads the records before it again."""
    writing = SnapshotWriting(journal, delivery.snapshot())
    try:
        writing.write_all()
    finally:
        journal.begun_offset = NO_OFFSET
    flusher.request(journal.partition)
    await flusher.drain()
    if journal.partition.log.durable_offset < writing.end_offset:
        raise StorageFailed("the delivery state could not be written")
    journal.snapshot_offset = writing.begun_offset


def recover(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    """Rebuilds the delivery state after a failed write, without yielding."""
    load(partition, config, now_ms)
    partition.scan(partition.data.high_watermark, is_new=False)
    at_once(_settling(partition, config, now_ms))


def load(partition: QueuePartition, config: QueueConfig, now_ms: int) -> bool:
    """Loads the newest readable snapshot. Returns True if it knows messages that are not there."""
    data = partition.data
    partition.delivery, partition.loaded_offset = (
        Delivery(rules_of(config), data.log.start_offset),
        NO_OFFSET,
    )
    if partition.journal is None:
        return False
    for offset, head, image in snapshots(partition.journal):
        try:
            delivery = Delivery.from_snapshot(image, rules_of(config), now_ms)
        except ValueError as error:
            log.error(
                "delivery snapshot damaged, using older records",
                topic=data.topic.name,
                partition=data.index,
                error=str(error),
            )
            continue
        partition.delivery, partition.loaded_offset = delivery, offset
        meant_offset = _meant_offset(data, head)
        knows_too_much = delivery.end_offset > meant_offset
        delivery.truncate(meant_offset)
        return knows_too_much
    return False


def _settling(
    partition: QueuePartition, config: QueueConfig, now_ms: int
) -> Generator[None, None, bool]:
    """Applies the changes after the snapshot, step by step. Returns True if they knew messages
    that are not there."""
    data, journal, delivery = partition.data, partition.journal, partition.delivery
    knows_too_much = False
    if journal is not None:
        journal.bytes_written = 0
        for entry in journal.entries(partition.loaded_offset):
            yield
            if entry.head.pieces:
                continue
            journal.bytes_written += len(entry.content)
            meant_offset = _meant_offset(data, entry.head)
            if entry.head.known_offset <= meant_offset:
                for change in _changes(journal, entry):
                    delivery.apply(change)
            else:
                knows_too_much = True
                for change in _changes(journal, entry):
                    if (clipped := clip(change, meant_offset)) is not None:
                        delivery.apply(clipped)
    if delivery.low_offset() < data.log.start_offset:
        delivery.apply(Trimmed(data.log.start_offset))
    if config.fifo:
        yield from _recalling_deduplication(partition, config, now_ms)
    delivery.tick(now_ms)
    return knows_too_much


def _meant_offset(data: Partition, head: JournalHead) -> int:
    """End of the messages in the log that the record can be about; later ones may be others that
    got their offsets under a newer epoch."""
    history = data.log
    if head.epoch >= history.epochs.latest:
        return history.end_offset
    return history.end_offset_for_epoch(head.epoch)[1]


def _changes(journal: Journal, entry: JournalEntry) -> list[Change]:
    try:
        return list(decode_changes(entry.content))
    except ValueError as error:
        journal.report_damage(entry.offset, entry.offset + 1, error)
        return []


def recall_deduplication(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    at_once(_recalling_deduplication(partition, config, now_ms))


def _recalling_deduplication(
    partition: QueuePartition, config: QueueConfig, now_ms: int
) -> Generator[None, None, None]:
    """Rebuilds the deduplication keys from the last minutes' messages, deleted ones included."""
    partition.deduplication = Deduplication()
    first_offset = partition.delivery.offset_at(now_ms - DEDUPLICATION_MS)
    # Up to the log's end: messages that are not committed yet must be recognised, too.
    for record in partition.records(first_offset, partition.data.log.end_offset):
        yield
        _remember(partition, config, record)


def _remember(partition: QueuePartition, config: QueueConfig, record: Record) -> None:
    assert record.offset is not None
    key = moved_key(record)
    given = deduplication_id_of(record)
    if key is None and given is not None:
        is_by_group = config.deduplication_scope == "messageGroup"
        key = deduplication_key(given, group_of(record, fifo=True) if is_by_group else None)
    if key is not None:
        partition.deduplication.remember(key, record.offset, record.timestamp)
