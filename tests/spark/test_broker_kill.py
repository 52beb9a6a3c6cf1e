"""A broker is killed while Spark reads from it or writes to it, and started again."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.streaming import DataStreamReader
from tests.harness.node import Node
from tests.spark.conftest import PARTITIONS
from tests.spark.test_sink import values

RECORDS_EACH = 2_000
VALUE_BYTES = 10_000
"""20 MB in each partition, which is far more than buffers hold between a broker and a task that
has come to a halt."""
FETCH_BYTES = "200000"
ROWS = 20_000
RECORD_BYTES = 9
"""At least: seven fields and a digit or more."""
SMALL_BATCH = "1000"
SECONDS_MAX = 60.0
FETCHED = "duolog_partition_bytes_out_total"


@pytest.fixture
def large(node: Node, topic: str) -> str:
    producer = Producer({"bootstrap.servers": node.kafka, "linger.ms": 5})
    for _ in range(RECORDS_EACH):
        for partition in range(PARTITIONS):
            producer.produce(topic, bytes(VALUE_BYTES), partition=partition)
        producer.poll(0)
    assert producer.flush(30) == 0
    return topic


class Gate:
    """A function of Spark that gives the length of a value, but not before it is opened."""

    def __init__(self, directory: Path) -> None:
        self.reached = directory / "reached"
        self.opened = directory / "opened"

    def length(self) -> Callable[[str], Column]:
        reached, opened = self.reached, self.opened

        def length_of(value: bytearray) -> int:
            reached.touch()
            while not opened.exists():
                time.sleep(0.01)
            return len(value)

        return udf(length_of, "int")


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """In another thread. What goes wrong there goes wrong here."""
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        try:
            yield
        finally:
            acting.result(SECONDS_MAX)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("kind", ["batch", "stream"])
def test_each_record_is_read_once_although_the_broker_was_killed_meanwhile(
    batch: DataFrameReader,
    stream: DataStreamReader,
    node: Node,
    large: str,
    tmp_path: Path,
    kind: str,
) -> None:
    gate = Gate(tmp_path)
    fetched_before = node.metric(FETCHED)
    reader = batch if kind == "batch" else stream
    rows = reader.option("subscribe", large).option("fetchBytesMax", FETCH_BYTES).load()
    places = rows.select("partition", "offset", gate.length()("value").alias("length"))
    read: list[tuple[int, int]] = []

    def take(frame: DataFrame, batch_id: int = 0) -> None:
        read.extend((row.partition, row.offset) for row in frame.collect())

    def kill_at_the_gate() -> None:
        wait_until(gate.reached.exists)
        fetched = node.metric(FETCHED) - fetched_before
        assert 0 < fetched < RECORDS_EACH * VALUE_BYTES * PARTITIONS
        node.kill()
        node.start()
        gate.opened.touch()

    with meanwhile(kill_at_the_gate):
        if kind == "batch":
            take(places)
        else:
            query = places.writeStream.foreachBatch(take).trigger(availableNow=True).start()
            query.awaitTermination(SECONDS_MAX)
    assert sorted(read) == [
        (partition, offset) for partition in range(PARTITIONS) for offset in range(RECORDS_EACH)
    ]


def test_each_row_is_written_once_although_the_broker_was_killed_meanwhile(
    spark: SparkSession, node: Node, topic: str, tmp_path: Path
) -> None:
    writer = (
        spark.range(ROWS)
        .selectExpr("CAST(id AS STRING) AS value")
        .write.format("duolog")
        .mode("append")
        .option("kafka.bootstrap.servers", node.kafka)
        .option("topic", topic)
        .option("batchBytesMax", SMALL_BATCH)
        .option("stagingDirectory", str(tmp_path))
    )

    def kill_when_some_is_written() -> None:
        wait_until(lambda: values(node, topic))
        node.kill()
        written = sum(path.stat().st_size for path in node.data.glob(f"{topic}-*/*.log"))
        assert written < ROWS * RECORD_BYTES
        node.start()

    with meanwhile(kill_when_some_is_written):
        writer.save()
    assert values(node, topic) == {str(number): 1 for number in range(ROWS)}
