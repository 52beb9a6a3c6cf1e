"""The connector's alternative: aiokafka in a Python source, a Python object for each record.

Arrow batches are built from lists of fields. Yielding tuples, as most such sources do, is slower
still: Spark would then make the same lists itself, after checking every tuple.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pyarrow as pa
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bench.spark.fixed_stream import SCHEMA, FixedStreamReader

FETCH_BYTES = 16 << 20
"""As much as the connector asks for."""
WAIT_MS = 30_000
MICROSECONDS = 1_000

T = TypeVar("T")


class PerRecordSource(DataSource):
    """Options: servers, topic, partitions and rows (per partition)."""

    @classmethod
    def name(cls) -> str:
        return "per_record"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> "PerRecordReader":
        return PerRecordReader(dict(self.options), schema)


class PerRecordReader(FixedStreamReader):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        super().__init__(options)
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(self._schema, timezone="UTC")
        loop = asyncio.new_event_loop()

        def run(step: Coroutine[Any, Any, T]) -> T:
            return loop.run_until_complete(step)

        at = TopicPartition(self.options["topic"], partition.value)
        consumer = run(self._assigned(at))
        try:
            left = int(self.options["rows"])
            while left:
                fetched = run(consumer.getmany(at, timeout_ms=WAIT_MS, max_records=left))
                records = fetched[at]
                left -= len(records)
                yield _batch(records, schema)
        finally:
            run(consumer.stop())
            loop.close()

    async def _assigned(self, at: TopicPartition) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.options["servers"],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_bytes=FETCH_BYTES,
            max_partition_fetch_bytes=FETCH_BYTES,
        )
        await consumer.start()
        consumer.assign([at])
        consumer.seek(at, 0)
        return consumer


def _batch(records: list[ConsumerRecord], schema: pa.Schema) -> pa.RecordBatch:
    columns = {
        "key": [each.key for each in records],
        "value": [each.value for each in records],
        "topic": [each.topic for each in records],
        "partition": [each.partition for each in records],
        "offset": [each.offset for each in records],
        "timestamp": [each.timestamp * MICROSECONDS for each in records],
        "timestampType": [each.timestamp_type for each in records],
    }
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
