"""Action behind `duolog topic produce`: produces the lines of each read of stdin in batches."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from duolog.cli.given import parse_pairs
from duolog.cli.lines import read_lines
from duolog.cli.output import Format, RowStream, counted, tell
from duolog.cli.topics.places import chosen_partitions
from duolog.client.cluster import Cluster
from duolog.client.errors import Endpoint, Refused
from duolog.client.partitioner import partition_of
from duolog.client.producer import Producer
from duolog.records import compression
from duolog.records.record import Record

BATCH_BYTES_MAX = 512 << 10
"""Half of a topic's default limit, which leaves room for the overhead of each value."""

_RECORD_OVERHEAD_BYTES = 32
_COLUMNS = {"partition": 9, "offset": 12, "timestamp_ms": 13}
_CODECS = {
    "none": compression.NONE,
    "gzip": compression.GZIP,
    "snappy": compression.SNAPPY,
    "lz4": compression.LZ4,
    "zstd": compression.ZSTD,
}


@dataclass(frozen=True, slots=True)
class Template:
    """Properties shared by all records of one command."""

    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    partition: int | None
    codec: int

    @classmethod
    def parse(
        cls, key: str | None, headers: list[str] | None, partition: int | None, codec: str
    ) -> "Template":
        pairs = parse_pairs(headers, "--header")
        return cls(
            None if key is None else key.encode(),
            tuple((name, value.encode()) for name, value in pairs.items()),
            partition,
            _CODECS[codec],
        )

    def record(self, value: bytes) -> Record:
        return Record(self.key, value, self.headers, int(time.time() * 1000))


def produce(
    address: Endpoint, topic: str, values: list[str] | None, template: Template, form: Format
) -> None:
    """Not one long coroutine: reading a terminal would block it, and cannot be cancelled."""
    given: Iterable[list[bytes]] = read_lines("a record")
    if values:
        given = [[value.encode() for value in values]]
    count = 0
    with asyncio.Runner() as runner, RowStream(form, _COLUMNS) as rows:
        sending = _Sending(address, topic, template)
        try:
            runner.run(sending.start())
            for lines in given:
                for batch in _batches(lines):
                    for partition, record in runner.run(sending.send(batch)):
                        rows.write(
                            {
                                "topic": topic,
                                "partition": partition,
                                "offset": record.offset,
                                "timestamp_ms": record.timestamp,
                            }
                        )
                        count += 1
        finally:
            runner.run(sending.close())
    tell(f"{counted(count, 'record')} produced to topic '{topic}'.")


class _Sending:
    def __init__(self, address: Endpoint, topic: str, template: Template) -> None:
        self._cluster = Cluster(address)
        self._producer = Producer(self._cluster, compression=template.codec)
        self._topic = topic
        self._template = template
        self._partitions: Sequence[int] = ()
        self._turn = 0

    async def start(self) -> None:
        partition = self._template.partition
        named = () if partition is None else (partition,)
        await self._find_or_make_topic()
        self._partitions = await chosen_partitions(self._cluster, self._topic, named)

    async def _find_or_make_topic(self) -> None:
        """As every Kafka producer does, unless the node forbids it."""
        try:
            await self._cluster.topic(self._topic)
        except Refused as refusal:
            if refusal.name != "UNKNOWN_TOPIC_OR_PARTITION":
                raise
            ask = partial(self._cluster.metadata, [self._topic], may_create=True)
            made = (await self._cluster.retry(ask)).topics[self._topic]
            count = counted(len(made.partitions), "partition")
            tell(f"Topic '{self._topic}' was made, with {count}.")

    async def send(self, values: Sequence[bytes]) -> list[tuple[int, Record]]:
        """Send the values; returns each record with its partition and offset."""
        records = [self._template.record(value) for value in values]
        partition = self._choose()
        base_offset = await self._producer.send(self._topic, partition, records)
        return [
            (partition, record._replace(offset=base_offset + at))
            for at, record in enumerate(records)
        ]

    async def close(self) -> None:
        await self._cluster.close()

    def _choose(self) -> int:
        """Partition by key, as other clients do; without a key, whole batches take turns."""
        key = self._template.key
        if key is not None:
            return self._partitions[partition_of(key, len(self._partitions))]
        self._turn += 1
        return self._partitions[(self._turn - 1) % len(self._partitions)]


def _batches(lines: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    first = size = 0
    for at, line in enumerate(lines):
        size += len(line) + _RECORD_OVERHEAD_BYTES
        if at > first and size > BATCH_BYTES_MAX:
            yield lines[first:at]
            first, size = at, len(line) + _RECORD_OVERHEAD_BYTES
    yield lines[first:]
