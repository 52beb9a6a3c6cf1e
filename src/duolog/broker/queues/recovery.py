"""Opens a partition of a queue: what its messages are, and what had become of each.

The newest snapshot, then the messages that came after it, then the changes that were made
after it. Whatever had to be found out is written down at once as a new snapshot: in `os` mode
a power cut can leave changes of messages that are lost, and those must not be taken for
changes of the messages that get their offsets next.
"""

import asyncio

from duolog.broker.partition import Partition
from duolog.broker.queues.journal import SNAPSHOT, Journal
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.config.queue import QueueConfig
from duolog.core.queues.changes import Trimmed
from duolog.core.queues.deduplication import (
    DEDUPLICATION_MS,
    Deduplication,
    deduplication_key,
)
from duolog.core.queues.delivery import Delivery
from duolog.core.queues.message import deduplication_id_of, group_of, moved_key
from duolog.core.queues.rules import DeliveryRules
from duolog.observe.logs import get_logger
from duolog.records.record import Record

IN_FLIGHT_MAX = 120_000
SCANNED_TOGETHER = 2_000

log = get_logger("queues")


def rules_of(config: QueueConfig) -> DeliveryRules:
    return DeliveryRules(
        fifo=config.fifo,
        retention_ms=config.message_retention_seconds * 1000,
        in_flight_max=IN_FLIGHT_MAX,
        receive_count_max=None if config.redrive is None else config.redrive.max_receive_count,
    )


async def open_state(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    """Find out what has become of the partition's messages, all of which are durable."""
    is_new = load(partition, config)
    before = partition.delivery.end_offset
    while partition.delivery.end_offset < partition.data.high_watermark:
        # A topic that becomes a queue may be long, and others are served meanwhile.
        reached = partition.delivery.end_offset + SCANNED_TOGETHER
        partition.scan(min(reached, partition.data.high_watermark), is_new=False)
        await asyncio.sleep(0)
    partition.enqueued_since_snapshot = partition.delivery.end_offset - before
    journal = partition.journal
    if settle(partition, config, now_ms) or is_new:
        assert journal is not None
        journal.partition.log.write_snapshot(
            SNAPSHOT, journal.end_offset, partition.delivery.snapshot()
        )


def recover(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    """Find out again, at once, what has become of the messages."""
    load(partition, config)
    partition.scan(partition.data.high_watermark, is_new=False)
    settle(partition, config, now_ms)


def load(partition: QueuePartition, config: QueueConfig) -> bool:
    """Begin with the newest snapshot; whether it knows more messages than there are.

    Then it must not be used again: their offsets will be those of other messages.
    """
    partition.delivery, partition.loaded_offset = _load_snapshot(
        config, partition.data, partition.journal
    )
    if partition.delivery.end_offset > partition.data.log.end_offset:
        partition.delivery.truncate(partition.data.log.end_offset)
        return True
    return False


def settle(partition: QueuePartition, config: QueueConfig, now_ms: int) -> bool:
    """Make the changes that came after the snapshot; whether there were any."""
    data, journal, delivery = partition.data, partition.journal, partition.delivery
    changes = False
    if journal is not None:
        for change in journal.changes(partition.loaded_offset):
            delivery.apply(change)
            changes = True
    if delivery.low_offset() < data.log.start_offset:
        delivery.apply(Trimmed(data.log.start_offset))
    if config.fifo:
        recall_deduplication(partition, config, now_ms)
    delivery.tick(now_ms)
    return changes


def _load_snapshot(
    config: QueueConfig, data: Partition, journal: Journal | None
) -> tuple[Delivery, int]:
    rules = rules_of(config)
    at_most = None if journal is None else journal.end_offset
    while journal is not None and at_most is not None:
        found = journal.latest_snapshot(at_most)
        if found is None:
            break
        try:
            return Delivery.from_snapshot(found[1], rules), found[0]
        except ValueError as error:
            log.error(
                "the delivery snapshot is damaged, older changes are used",
                topic=data.topic.name,
                partition=data.index,
                error=str(error),
            )
            at_most = found[0] - 1
    return Delivery(rules, data.log.start_offset), 0


def recall_deduplication(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    """From the messages of the last minutes, of which some are deleted already."""
    partition.deduplication = Deduplication()
    first_offset = partition.delivery.offset_at(now_ms - DEDUPLICATION_MS)
    # Up to the very end: what is not durable yet is on its way, and known already.
    for record in partition.records(first_offset, partition.data.log.end_offset):
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
