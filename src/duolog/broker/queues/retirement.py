"""Retires partitions that a queue no longer needs, and revives them.

The number of open partitions, which take messages, is decided elsewhere. The leader of any other
partition marks it as retired in the catalog when it is empty, so that receivers stop asking it.
Nothing is removed, because Kafka clients rely on their partitions and offsets; a record that they
write there is a message, upon which the leader revives the partition. A deposed leader may write
a wrong mark; the next leader checks it at each change.
"""

import asyncio
import uuid

from duolog.broker.broker import Broker
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger

log = get_logger("queues")


class Retirement:
    def __init__(self, broker: Broker) -> None:
        self._catalog = broker.catalog
        self._noting: dict[tuple[uuid.UUID, int], asyncio.Task[None]] = {}

    def look(self, queue: Queue, partition: QueuePartition) -> None:
        """Retires or revives the partition if its mark is wrong; called periodically, and when the
        topic has changed."""
        topic, index = partition.data.topic, partition.data.index
        if queue.config.source_topic is not None:
            # A subscription queue: others may write to any partition of the topic.
            return
        is_idle = index >= topic.open_partition_count and _is_empty(partition)
        key = topic.id, index
        if is_idle == (index in topic.retired) or key in self._noting:
            return
        noting = asyncio.ensure_future(self._note(topic.name, key, is_idle))
        self._noting[key] = noting
        noting.add_done_callback(lambda _: self._noting.pop(key, None))

    def stop(self) -> None:
        for noting in list(self._noting.values()):
            noting.cancel()

    async def _note(self, name: str, key: tuple[uuid.UUID, int], is_idle: bool) -> None:
        catalog = self._catalog
        note = catalog.retire_partition if is_idle else catalog.revive_partition
        try:
            await note(name, *key)
        except Refusal as refusal:
            log.info("partition not retired or revived, will retry", queue=name, why=str(refusal))


def _is_empty(partition: QueuePartition) -> bool:
    """True if there are no undone messages, and none that await their commit."""
    delivery = partition.delivery
    return delivery.is_empty and delivery.end_offset >= partition.data.log.end_offset
