"""Delivers the batches of a manifest exactly once, however often the delivery is repeated.

The batches of a partition leave in order, a few at a time, under the manifest's producer, with
sequences that count from its first record. The broker recognises a repeated batch, and refuses one
whose predecessor is missing. After a crash the log is read from its former end: the last sequence
of this producer in it tells how much was written, whether or not a broker still remembers the
producer.
"""

import asyncio
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct

import numpy as np

from duolog.client.cluster import Cluster
from duolog.client.consumer import fetch
from duolog.client.errors import Refused, check
from duolog.client.offsets import bounds_of
from duolog.client.produce import produce
from duolog.model.limits import PRODUCER_BATCHES_REMEMBERED
from duolog.records.checksum import is_intact, seal
from duolog.records.header import PRODUCER_ID_AT
from duolog.records.iterator import iter_batches
from duolog.wire.kafka.apis import ApiKey
from pyspark_duolog.asking import Asking
from pyspark_duolog.errors import BrokerAway, ConnectorError, Damaged, DataLost, place
from pyspark_duolog.sink.manifest import Manifest, ManifestStore, Target, batches_by_target
from pyspark_duolog.sink.options import SinkOptions
from pyspark_duolog.sink.staging import Staged, discard

PARTITIONS_AT_ONCE_MAX = 64
UNANSWERED_MAX = PRODUCER_BATCHES_REMEMBERED
"""Limit of a partition's batches in flight. Beyond it a broker would not recognise the first one,
if all are repeated after a broken connection."""

_PRODUCER = Struct(">qhi")
_NO_PRODUCER = {"transactional_id": None, "producer_id": -1, "producer_epoch": -1}


def deliver(options: SinkOptions, batch_id: int, staged: Sequence[Staged]) -> None:
    """Deliver a micro-batch. When this returns, all of it is in the log, each record once."""
    write_ids = {each.write_id for each in staged}
    if not write_ids:
        return
    (write_id,) = write_ids
    store = ManifestStore(options.staging_directory / write_id)
    if store.is_done(batch_id):
        discard(options.staging_directory, staged)
        return
    asking = Asking(options.bootstrap_servers, options.broker_timeout_ms)
    manifest = store.load(batch_id)
    is_resumed = manifest is not None
    if manifest is None:
        planned = asking.ask(lambda cluster: _plan(cluster, staged))
        manifest = store.create(batch_id, planned)
        is_resumed = manifest is not planned
    discard(options.staging_directory, staged, kept=manifest.files)
    _Delivery(store.directory, manifest, is_resumed=is_resumed).run(asking)
    store.finish(batch_id)


async def _plan(cluster: Cluster, staged: Sequence[Staged]) -> Manifest:
    by_target = batches_by_target(staged)
    bounds = await bounds_of(cluster, list(by_target))
    ids = {
        topic: str((await cluster.topic(topic)).id) for topic in {topic for topic, _ in by_target}
    }
    producer = await cluster.call(ApiKey.INIT_PRODUCER_ID, _NO_PRODUCER)
    check(producer.error_code, "this sink")
    targets = [
        Target(topic, ids[topic], partition, bounds[topic, partition].end_offset, batches)
        for (topic, partition), batches in sorted(by_target.items())
    ]
    return Manifest(producer.producer_id, producer.producer_epoch, targets)


class _Delivery:
    def __init__(self, directory: Path, manifest: Manifest, *, is_resumed: bool) -> None:
        self._directory = directory
        self._manifest = manifest
        self._look_first = is_resumed
        self._batches_sent = 0

    def run(self, asking: Asking) -> None:
        """Send until everything is written; wait for brokers as long as there is progress."""
        while True:
            batches_sent = self._batches_sent
            try:
                asking.ask(self._send_all)
                return
            except BrokerAway:
                if self._batches_sent == batches_sent:
                    raise

    async def _send_all(self, cluster: Cluster) -> None:
        look_first, self._look_first = self._look_first, True
        slots = asyncio.Semaphore(PARTITIONS_AT_ONCE_MAX)

        async def one(target: Target) -> None:
            async with slots:
                await self._send(cluster, target, look_first=look_first)

        await asyncio.gather(*(one(target) for target in self._manifest.targets))

    async def _send(self, cluster: Cluster, target: Target, *, look_first: bool) -> None:
        described = await cluster.topic(target.topic)
        if str(described.id) != target.topic_id:
            raise ConnectorError(f"topic '{target.topic}' was deleted and recreated meanwhile")
        written = await self._written(cluster, target) if look_first else 0
        unanswered: deque[asyncio.Task[None]] = deque()
        # A broker accepts any sequence of a producer that it does not know. So nothing follows the
        # first batch before that is written: a refusal of it would leave a gap.
        unanswered_max = 1
        try:
            for batch in self._unwritten(target, written):
                if len(unanswered) == unanswered_max:
                    await unanswered.popleft()
                    unanswered_max = UNANSWERED_MAX
                unanswered.append(asyncio.create_task(self._produce(cluster, target, batch)))
            while unanswered:
                await unanswered.popleft()
        finally:
            for each in unanswered:
                each.cancel()
            await asyncio.gather(*unanswered, return_exceptions=True)

    async def _produce(self, cluster: Cluster, target: Target, batch: memoryview) -> None:
        await produce(cluster, target.topic, target.partition, batch)
        self._batches_sent += 1

    def _unwritten(self, target: Target, written: int) -> Iterator[memoryview]:
        sequence = 0
        for file, position, size, record_count in target.batches:
            if sequence >= written:
                batch = self._batch(file, position, size)
                _PRODUCER.pack_into(
                    batch,
                    PRODUCER_ID_AT,
                    self._manifest.producer_id,
                    self._manifest.producer_epoch,
                    sequence,
                )
                seal(batch)
                yield batch
            sequence += record_count

    def _batch(self, file: str, position: int, size: int) -> memoryview:
        batch = memoryview(np.empty(size, np.uint8).data)
        try:
            descriptor = os.open(self._directory / file, os.O_RDONLY)
        except FileNotFoundError:
            raise DataLost(
                f"the staged file '{file}' is not in '{self._directory}': the driver has to see "
                "the stagingDirectory that tasks write to"
            ) from None
        try:
            if os.preadv(descriptor, [batch], position) != size:
                raise DataLost(f"the staged file '{file}' in '{self._directory}' is cut short")
        finally:
            os.close(descriptor)
        if not is_intact(batch):
            raise Damaged(
                f"the batch at byte {position} of the staged file '{file}' in "
                f"'{self._directory}' was changed after a task wrote it"
            )
        return batch

    async def _written(self, cluster: Cluster, target: Target) -> int:
        """Number of this manifest's records that the partition has: always its first ones."""
        at = (target.topic, target.partition)
        bounds = (await bounds_of(cluster, [at]))[at]
        offset = max(target.end_offset, bounds.start_offset)
        written = 0
        while offset < bounds.end_offset:
            leader = await cluster.leader(*at)
            wanted = {target.partition: offset}
            (fetched,) = await fetch(cluster, leader, target.topic, wanted, wait_ms=0)
            if fetched.error is not None:
                raise Refused(fetched.error, place(*at, offset))
            for header, _ in iter_batches(fetched.batches):
                if header.producer_id == self._manifest.producer_id:
                    written = header.base_sequence + header.record_count
                offset = header.next_offset
        return written
