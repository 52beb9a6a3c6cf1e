"""Takes partitions that a queue no longer needs out of it, and in again.

How many partitions take messages is decided elsewhere. Of the others, the leader of each notes
in the catalog when it has nothing left: receivers do not ask it from then on. Nothing is
removed, because Kafka clients count on their partitions and offsets; and what they write there
is a message, so that the leader notes that the partition has something again. A leader that is
none any more may note what is not so: the one after it looks at each change.
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
        """To be called now and then, and when the topic has changed."""
        topic, index = partition.data.topic, partition.data.index
        if queue.config.source_topic is not None:
            # The topic is not its own, and others may send to any partition.
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
            log.info("not noted whether a partition is idle", queue=name, why=str(refusal))


def _is_empty(partition: QueuePartition) -> bool:
    """Also of what is still on its way to the disk."""
    delivery = partition.delivery
    return delivery.is_empty and delivery.end_offset >= partition.data.log.end_offset
