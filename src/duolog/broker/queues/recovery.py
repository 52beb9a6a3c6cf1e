"""Recovers the delivery state of a queue's partition from its messages and its journal.

Loads the newest snapshot, enqueues the messages after it, and applies the changes after it. Every
step leaves a state that can be gone on from later (progress.py), because the time that a leader
has may be short. The journal can know messages that are not there: in `os` mode a power cut may
have taken them, and after an unclean election the leader may never have had them. Their state must
not be taken for that of the messages that get their offsets next. So each journal record names the
messages that it knew, by end offset and leader epoch; and if it knew too many, a new snapshot is
made durable before the partition is served, because the leader epoch of a sole node never changes.
"""

import asyncio
from collections.abc import Generator

from duolog.broker.admission import Admission, at_once
from duolog.broker.flusher import Flusher
from duolog.broker.partition import Partition
from duolog.broker.queues.journal import Journal, JournalEntry
from duolog.broker.queues.progress import Tail
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.snapshots import Snapshot, SnapshotWriting, searching
from duolog.config.queue import QueueConfig
from duolog.core.queues.clipping import clip
from duolog.core.queues.deduplication import DEDUPLICATION_MS, Deduplication
from duolog.core.queues.delivery import Delivery
from duolog.core.queues.rules import DeliveryRules
from duolog.model.errors import StorageFailed
from duolog.observe.logs import get_logger
from duolog.records.changes import Change, Trimmed, decode_changes
from duolog.records.journal_head import NO_OFFSET, JournalHead

IN_FLIGHT_MAX = 120_000
RECORD_BYTES = 100
"""Size of a journal record beside its content."""

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

    Raises Refusal if a necessary snapshot cannot be written.
    """
    await read_state(partition, config, admission, now_ms)
    if partition.journal is not None and partition.progress.knows_too_much:
        await _write_anew(partition, partition.journal, flusher)


async def read_state(
    partition: QueuePartition, config: QueueConfig, admission: Admission, now_ms: int
) -> None:
    """Reads what the partition's progress lacks, while admitted, and rests."""
    async with admission.admitted() as budget:
        await budget.run(reading(partition, config, now_ms))


def catch_up(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    """Reads the little that has come since `read_state`, in one turn."""
    at_once(reading(partition, config, now_ms))


def reading(
    partition: QueuePartition, config: QueueConfig, now_ms: int
) -> Generator[None, None, None]:
    """Reads what the partition's progress lacks, step by step."""
    progress = partition.progress
    if not progress.is_loaded:
        yield from _loading(partition, config, now_ms)
        progress.is_loaded = True
    elif progress.scope != config.deduplication_scope:
        _forget_keys(partition, config, now_ms)
    partition.delivery.rules = rules_of(config)
    yield from _recalling_keys(partition, now_ms)
    # More is committed while this rests, and seen only once nothing more is awaited.
    yield from partition.scanning(partition.data.high_watermark, is_new=False)
    yield from _applying(partition)
    yield from partition.scanning(partition.data.high_watermark, is_new=False)
    delivery, data = partition.delivery, partition.data
    if delivery.low_offset() < data.log.start_offset:
        delivery.apply(Trimmed(data.log.start_offset))
    partition.deduplication.expire(now_ms)
    delivery.tick(now_ms)


async def _write_anew(partition: QueuePartition, journal: Journal, flusher: Flusher) -> None:
    """Writes a durable snapshot, so that recovery never reads the records before it again."""
    writing = SnapshotWriting.of(partition)
    try:
        while not writing.is_complete:
            writing.write_piece()
            await asyncio.sleep(0)
    finally:
        journal.begun_offset = NO_OFFSET
    flusher.request(journal.partition)
    await flusher.drain()
    if journal.partition.log.durable_offset < writing.end_offset:
        raise StorageFailed("the delivery state could not be written")
    journal.snapshot_offset = writing.begun_offset
    partition.progress.knows_too_much = False
    partition.tail = Tail()
    journal.snapshot_bytes = writing.size


def _loading(
    partition: QueuePartition, config: QueueConfig, now_ms: int
) -> Generator[None, None, None]:
    """Loads the newest readable snapshot, or the state before all messages."""
    data, journal = partition.data, partition.journal
    partition.delivery = Delivery(rules_of(config), data.log.start_offset)
    if journal is not None:
        for found in searching(journal, with_keys=config.fifo):
            yield
            if found is None:
                continue
            if (yield from _loading_image(partition, journal, found, config, now_ms)):
                yield from _loading_keys(partition, found, config, now_ms)
                return
        partition.progress.journal_offset = journal.partition.log.start_offset
    _forget_keys(partition, config, now_ms)


def _loading_image(
    partition: QueuePartition, journal: Journal, found: Snapshot, config: QueueConfig, now_ms: int
) -> Generator[None, None, bool]:
    """Loads the snapshot's image, step by step; returns False if it cannot be read."""
    data, progress = partition.data, partition.progress
    try:
        delivery = yield from Delivery.loading(found.image, rules_of(config), now_ms)
    except ValueError as error:
        log.error(
            "delivery snapshot damaged, using older records",
            topic=data.topic.name,
            partition=data.index,
            error=str(error),
        )
        return False
    meant_offset = _meant_offset(data, found.head)
    progress.knows_too_much = delivery.end_offset > meant_offset
    delivery.truncate(meant_offset)
    partition.delivery = delivery
    progress.journal_offset = journal.snapshot_offset = found.offset
    journal.snapshot_bytes = found.size
    return True


def _loading_keys(
    partition: QueuePartition, found: Snapshot, config: QueueConfig, now_ms: int
) -> Generator[None, None, None]:
    """Loads the snapshot's deduplication keys; if it has none of this scope, the last minutes'
    messages are to be read."""
    deduplication = Deduplication()
    try:
        for saved in found.keys or ():
            yield
            if saved.scope != config.deduplication_scope:
                _forget_keys(partition, config, now_ms)
                return
            if saved.table is not None:
                deduplication.load(saved.table, now_ms)
    except ValueError as error:
        log.error("saved deduplication keys not used", error=str(error))
        found = found._replace(keys=None)
    if found.keys is None:
        _forget_keys(partition, config, now_ms)
        return
    deduplication.forget_from(partition.delivery.end_offset)
    partition.deduplication = deduplication
    partition.progress.scope = config.deduplication_scope


def _forget_keys(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    """Notes that the keys of all messages known so far are missing, deleted ones included."""
    partition.deduplication = Deduplication()
    progress, delivery = partition.progress, partition.delivery
    progress.scope = config.deduplication_scope
    progress.keys_end_offset = delivery.end_offset if config.fifo else 0
    progress.keys_offset = delivery.offset_at(now_ms - DEDUPLICATION_MS) if config.fifo else 0


def _recalling_keys(partition: QueuePartition, now_ms: int) -> Generator[None, None, None]:
    """Reads the keys that are missing, step by step."""
    progress = partition.progress
    for record in partition.records(progress.keys_offset, progress.keys_end_offset):
        yield
        assert record.offset is not None
        partition.remember(record, now_ms)
        progress.keys_offset = record.offset + 1
        partition.enqueued_since_snapshot += 1
    progress.keys_offset = progress.keys_end_offset


def _applying(partition: QueuePartition) -> Generator[None, None, None]:
    """Applies the changes after those that are applied already, step by step."""
    data, journal, delivery = partition.data, partition.journal, partition.delivery
    if journal is None:
        return
    progress = partition.progress
    for entry in journal.entries(progress.journal_offset):
        yield
        known_offset = min(entry.head.known_offset, data.high_watermark)
        if delivery.end_offset < known_offset:
            # Written while this rested, about messages that were committed meanwhile.
            yield from partition.scanning(known_offset, is_new=False)
        progress.journal_offset = entry.offset + 1
        if entry.head.pieces:
            continue
        journal.bytes_written += RECORD_BYTES + len(entry.content)
        meant_offset = _meant_offset(data, entry.head)
        if entry.head.known_offset <= meant_offset:
            for change in _changes(journal, entry):
                delivery.apply(change)
        else:
            progress.knows_too_much = True
            for change in _changes(journal, entry):
                if (clipped := clip(change, meant_offset)) is not None:
                    delivery.apply(clipped)
    progress.journal_offset = journal.partition.log.end_offset


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
