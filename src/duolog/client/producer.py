"""Writes records with an idempotent producer: retries never duplicate a batch."""

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
    """Producer id and epoch, and the next sequence per partition."""

    producer_id: int
    epoch: int
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    """Sequence of the next record; 0 for a partition without records."""


class Producer:
    """Idempotent producer: the broker recognises a batch sent twice by its sequence.

    One batch per partition is in flight at a time; partitions are independent.
    """

    def __init__(self, cluster: Cluster, *, compression: int = NONE) -> None:
        self._cluster = cluster
        self._compression = compression
        self._identity: _Identity | None = None
        self._busy: set[TopicPartition] = set()

    async def send(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Writes one batch with acks=all; returns the offset of its first record."""
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
            # Unknown outcome: the broker may have the batch, so the next sequence is unknown.
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
