"""Opens a partition of a queue: what its messages are, and what had become of each.

The newest snapshot, then the messages that came after it, then the changes that were made
after it. Whatever had to be found out is written down at once as a new snapshot: in `os` mode
a power cut can leave changes of messages that are lost, and those must not be taken for
changes of the messages that get their offsets next.
"""

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

log = get_logger("queues")


def rules_of(config: QueueConfig) -> DeliveryRules:
    return DeliveryRules(
        fifo=config.fifo,
        retention_ms=config.message_retention_seconds * 1000,
        in_flight_max=IN_FLIGHT_MAX,
        receive_count_max=None if config.redrive is None else config.redrive.max_receive_count,
    )


def open_state(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
    """Find out what has become of the partition's messages, all of which are durable."""
    changes = recover(partition, config, now_ms)
    journal = partition.journal
    if journal is not None and changes:
        journal.partition.log.write_snapshot(
            SNAPSHOT, journal.end_offset, partition.delivery.snapshot()
        )


def recover(partition: QueuePartition, config: QueueConfig, now_ms: int) -> int:
    """Find out what has become of the messages; how many changes had to be read for it."""
    data, journal = partition.data, partition.journal
    delivery, from_offset = _load_snapshot(config, data, journal)
    partition.delivery = delivery
    if delivery.end_offset > data.log.end_offset:
        delivery.truncate(data.log.end_offset)
    partition.scan(data.high_watermark, is_new=False)
    changes = 0
    if journal is not None:
        for change in journal.changes(from_offset):
            delivery.apply(change)
            changes += 1
    if delivery.low_offset() < data.log.start_offset:
        delivery.apply(Trimmed(data.log.start_offset))
    if config.fifo:
        _recall_deduplication(partition, config, now_ms)
    delivery.tick(now_ms)
    return changes


def _load_snapshot(
    config: QueueConfig, data: Partition, journal: Journal | None
) -> tuple[Delivery, int]:
    rules = rules_of(config)
    found = None if journal is None else journal.latest_snapshot()
    if found is not None:
        try:
            return Delivery.from_snapshot(found[1], rules), found[0]
        except ValueError as error:
            log.error(
                "the delivery snapshot is damaged, older changes are used",
                topic=data.topic.name,
                partition=data.index,
                error=str(error),
            )
    return Delivery(rules, data.log.start_offset), 0


def _recall_deduplication(partition: QueuePartition, config: QueueConfig, now_ms: int) -> None:
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
