"""Writes records, each batch exactly once, whatever happens to the connection meanwhile."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from typing_extensions import Buffer

from duolog.client.cluster import RETRY_PAUSES_SECONDS, Cluster, is_passing
from duolog.client.errors import ClientError, Refused, Unreachable, check
from duolog.client.offsets import TopicPartition
from duolog.client.produce import produce
from duolog.records.builder import build_batch
from duolog.records.compression import NONE
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey

_SEQUENCE_MASK = 0x7FFF_FFFF
"""Sequences wrap at 2^31."""
_NO_PRODUCER = {"transactional_id": None, "producer_id": -1, "producer_epoch": -1}


@dataclass(slots=True)
class _Identity:
    """Who a broker takes this producer for, and how many records it has had of it."""

    producer_id: int
    epoch: int
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    """Of the next record; 0 where there has been none."""


class Producer:
    """Idempotent: a batch that is sent again after a lost answer is recognised by its sequence.

    One batch of a partition is on its way at a time; partitions do not wait for each other.
    """

    def __init__(self, cluster: Cluster, *, compression: int = NONE) -> None:
        self._cluster = cluster
        self._compression = compression
        self._identity: _Identity | None = None
        self._busy: set[TopicPartition] = set()

    async def send(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """The offset of the first record; the others follow it. Durable as the topic asks."""
        at = (topic, partition)
        assert at not in self._busy, "the previous batch has to be acknowledged first"
        self._busy.add(at)
        try:
            identity = await self._identify()
            sequence = identity.sequences.get(at, 0)
            batch = build_batch(
                records,
                compression=self._compression,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=sequence,
            )
            base_offset = await self._deliver(topic, partition, batch)
            identity.sequences[at] = (sequence + len(records)) & _SEQUENCE_MASK
        except ClientError:
            # What the broker has of this batch is unknown, and so is the next sequence.
            self._identity = None
            raise
        finally:
            self._busy.discard(at)
        return base_offset

    async def _identify(self) -> _Identity:
        if self._identity is None:
            response = await self._cluster.call(ApiKey.INIT_PRODUCER_ID, _NO_PRODUCER)
            check(response.error_code, "this producer")
            self._identity = _Identity(response.producer_id, response.producer_epoch)
        return self._identity

    async def _deliver(self, topic: str, partition: int, batch: Buffer) -> int:
        for pause_seconds in RETRY_PAUSES_SECONDS:
            try:
                return await produce(self._cluster, topic, partition, batch)
            except Unreachable:
                pass
            except Refused as refusal:
                if not is_passing(refusal.name):
                    raise
            self._cluster.forget()
            await asyncio.sleep(pause_seconds)
        return await produce(self._cluster, topic, partition, batch)
