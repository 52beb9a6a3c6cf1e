"""Where groups keep what must outlive the process: the internal topic of offsets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from duolog.broker.damage import past_damage
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import CorruptBatch, TopicExists
from duolog.model.names import OFFSETS_TOPIC
from duolog.observe.logs import get_logger
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.partition import Partition
    from duolog.log.log import Log

events = get_logger("groups")

KeyValue = tuple[bytes, bytes | None]
"""A null value is a tombstone."""

LOAD_BYTES_MAX = 4 << 20
"""Most bytes that loading reads before it lets others run."""
APPEND_BYTES_MAX = 1 << 20
"""Size at which a batch is closed. A single larger record still makes one."""
SEGMENT_BYTES = 100 << 20
"""Small segments keep compaction, and so the next start, quick."""
BATCH_BYTES_OVERHEAD = 1 << 10


class StoredRecord(NamedTuple):
    partition: int
    key: bytes
    value: bytes | None
    timestamp_ms: int


class OffsetStore(Protocol):
    @property
    def partitions(self) -> int:
        """Does not change once something is stored."""
        ...

    def load(self) -> AsyncIterator[StoredRecord]:
        """Everything stored; the records of one partition in the order of their appends."""
        ...

    async def append(self, partition: int, records: Sequence[KeyValue]) -> None:
        """Returns once all are durable. Called again for a partition only after that."""
        ...


class TopicOffsetStore:
    """Makes the topic when something is first written, as Kafka does."""

    def __init__(self, broker: "Broker", settings: GroupSettings) -> None:
        self._broker = broker
        self._settings = settings

    @property
    def partitions(self) -> int:
        topic = self._broker.catalog.topics.get(OFFSETS_TOPIC)
        return self._settings.offsets_partitions if topic is None else topic.partitions

    async def load(self) -> AsyncIterator[StoredRecord]:
        if OFFSETS_TOPIC not in self._broker.catalog.topics:
            return
        for index in range(self.partitions):
            log = self._broker.partition(OFFSETS_TOPIC, index).log
            offset = log.start_offset
            while offset < log.end_offset:
                chunk: list[StoredRecord] = []
                offset = self._read(log, index, offset, chunk)
                for record in chunk:
                    yield record
                await asyncio.sleep(0)

    def _read(self, log: "Log", index: int, offset: int, into: list[StoredRecord]) -> int:
        """Read some of a partition's records; the offset at which to go on."""
        bytes_max = self._broker.settings.integer("decompressed.bytes.max")
        reached = offset
        try:
            for batch in log.batches(offset, LOAD_BYTES_MAX):
                for record in iter_records(batch, decompressed_bytes_max=bytes_max):
                    assert record.key is not None, "a compacted topic takes no other"
                    into.append(StoredRecord(index, record.key, record.value, record.timestamp))
                reached = read_header(batch).next_offset
        except CorruptBatch as error:
            # Without these records a group goes back to an older commit and reads some
            # messages twice; without this broker it would read none.
            past = past_damage(log, reached)
            events.error(
                "group records damaged, older ones count again",
                partition=index,
                first_offset=reached,
                next_offset=past,
                error=str(error),
            )
            return past
        return reached if reached > offset else log.end_offset

    async def append(self, partition: int, records: Sequence[KeyValue]) -> None:
        target = await self._partition(partition)
        now_ms = self._broker.clock.now_ms()
        for chunk in _chunks(records):
            await target.append(
                build_batch([Record(key, value, timestamp=now_ms) for key, value in chunk])
            )

    async def _partition(self, index: int) -> "Partition":
        if OFFSETS_TOPIC not in self._broker.catalog.topics:
            record_bytes_max = 2 * self._settings.group_bytes_max
            overrides = {
                "cleanup.policy": "compact",
                "segment.bytes": str(SEGMENT_BYTES),
                "max.message.bytes": str(
                    record_bytes_max + APPEND_BYTES_MAX + BATCH_BYTES_OVERHEAD
                ),
            }
            # Another partition's first write may have been quicker.
            with contextlib.suppress(TopicExists):
                await self._broker.catalog.create_topic(OFFSETS_TOPIC, self.partitions, overrides)
        return self._broker.partition(OFFSETS_TOPIC, index)


def _chunks(records: Sequence[KeyValue]) -> Iterator[list[KeyValue]]:
    chunk: list[KeyValue] = []
    size = 0
    for record in records:
        chunk.append(record)
        size += len(record[0]) + len(record[1] or b"")
        if size >= APPEND_BYTES_MAX:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
