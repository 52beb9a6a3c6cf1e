"""What is written is in the log once, whatever happens on the way."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.streaming import DataStreamReader
from tests.harness.node import Node
from tests.spark.conftest import Produce

from duolog.client.cluster import Cluster
from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.columns import full_schema
from pyspark_duolog.errors import Damaged, DataLost
from pyspark_duolog.sink import delivery
from pyspark_duolog.sink.delivery import deliver
from pyspark_duolog.sink.options import SinkOptions, read_sink_options
from pyspark_duolog.sink.staging import Staged, stage
from pyspark_duolog.source.brokers import Brokers
from pyspark_duolog.source.options import read_options
from pyspark_duolog.source.planning import Range
from pyspark_duolog.source.reading import RangeReader

ROWS = 40
QUERY = "query-1"


def test_a_frame_is_written_with_all_its_columns(
    spark: SparkSession, batch: DataFrameReader, node: Node, topic: str, tmp_path: Path
) -> None:
    frame = spark.sql(
        f"""SELECT '{topic}' AS topic, CAST(id % 2 AS INT) AS partition, 'k' AS key,
            CAST(id AS STRING) AS value, timestamp_millis(1700000000000 + id) AS timestamp,
            array(named_struct('key', 'h', 'value', CAST('x' AS BINARY))) AS headers
            FROM range(100)"""
    )
    (
        frame.write.format("duolog")
        .mode("append")
        .option("kafka.bootstrap.servers", node.kafka)
        .option("kafka.compression.type", "lz4")
        .option("stagingDirectory", str(tmp_path))
        .save()
    )
    read = batch.option("subscribe", topic).option("includeHeaders", "true").load()
    rows = read.selectExpr(
        "partition",
        "CAST(key AS STRING) k",
        "CAST(CAST(value AS STRING) AS INT) v",
        "unix_millis(timestamp) t",
        "headers[0].key h",
    ).collect()
    assert sorted(map(tuple, rows)) == sorted(
        (number % 2, "k", number, 1_700_000_000_000 + number, "h") for number in range(100)
    )
    assert not list(tmp_path.glob("*/*.batches"))


def test_a_stream_is_written_once_each_time_it_is_run(
    batch: DataFrameReader,
    stream: DataStreamReader,
    node: Node,
    new_topic: Callable[..., str],
    produce: Produce,
    checkpoint: Path,
) -> None:
    source, target = new_topic(), new_topic()
    for first in (0, 30):
        produce(source, 30, first=first)
        rows = stream.option("subscribe", source).load()
        query = (
            rows.select("key", "value")
            .writeStream.format("duolog")
            .option("kafka.bootstrap.servers", node.kafka)
            .option("topic", target)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
    read = (
        batch.option("subscribe", target)
        .load()
        .selectExpr("CAST(CAST(value AS STRING) AS INT) v")
        .collect()
    )
    assert sorted(row.v for row in read) == list(range(60))


def test_a_second_query_with_the_checkpoint_of_a_running_one_takes_over_from_it(
    stream: DataStreamReader,
    node: Node,
    new_topic: Callable[..., str],
    produce: Produce,
    checkpoint: Path,
) -> None:
    source, target = new_topic(), new_topic()
    produce(source, 30)
    writer = (
        stream.option("subscribe", source)
        .load()
        .select("value")
        .writeStream.format("duolog")
        .option("kafka.bootstrap.servers", node.kafka)
        .option("topic", target)
        .option("checkpointLocation", str(checkpoint))
    )
    first = writer.start()
    while not values(node, target):
        assert first.isActive
        time.sleep(0.05)
    second = writer.start()
    try:
        produce(source, 30, first=30)
        second.processAllAvailable()
        assert not first.isActive
    finally:
        second.stop()
    assert values(node, target) == {str(number): 1 for number in range(60)}


def test_a_column_that_cannot_be_written_is_named(
    spark: SparkSession, node: Node, tmp_path: Path
) -> None:
    writer = spark.sql("SELECT 1 AS value").write.format("duolog").mode("append")
    with pytest.raises(PySparkException, match="'value' is int, not binary or string"):
        writer.option("kafka.bootstrap.servers", node.kafka).option(
            "stagingDirectory", str(tmp_path)
        ).save()


class Crashed(BaseException):
    """As when the driver is killed: nothing is cleaned up."""


@pytest.fixture
def options(node: Node, topic: str, tmp_path: Path) -> SinkOptions:
    given = {
        "kafka.bootstrap.servers": node.kafka,
        "topic": topic,
        "stagingDirectory": str(tmp_path),
        "brokerTimeoutMs": "60000",
    }
    return read_sink_options(given)


def staged(options: SinkOptions, label: str) -> list[Staged]:
    """Two tasks, each with several batches of two rows."""
    tasks = []
    for task in range(2):
        names = [f"{label}-{task}-{number}" for number in range(ROWS // 2)]
        batches = [
            pa.RecordBatch.from_pydict({"value": names[at : at + 2]})
            for at in range(0, len(names), 2)
        ]
        tasks.append(stage(options, QUERY, task, iter(batches)))
    return tasks


def values(node: Node, topic: str) -> Counter[str]:
    """How often each value is in the topic."""
    source = read_options({"kafka.bootstrap.servers": node.kafka, "subscribe": topic})
    state = Brokers(source).see()[topic]
    found: Counter[str] = Counter()
    for partition, bounds in state.partitions.items():
        wanted = Range(topic, state.id, partition, *bounds)
        for batch in RangeReader(source, wanted, arrow_schema(full_schema(False))).read():
            found.update(value.decode() for value in batch["value"].to_pylist())
    return found


@contextmanager
def crash_at(number: int, *, after: bool) -> Iterator[None]:
    """The driver dies at its `number`th batch: before the broker has it, or just after."""
    produce = delivery.produce
    sent = 0

    async def crashing(cluster: Cluster, topic: str, partition: int, batch: bytes) -> None:
        nonlocal sent
        sent += 1
        here = sent
        if here < number or (here == number and after):
            await produce(cluster, topic, partition, batch)
        if here >= number:
            raise Crashed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "produce", crashing)
        with pytest.raises(Crashed):
            yield


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 2, 9, ROWS // 2])
def test_a_micro_batch_is_written_once_although_the_driver_died(
    node: Node, topic: str, options: SinkOptions, number: int, after: bool
) -> None:
    with crash_at(number, after=after):
        deliver(options, 7, staged(options, "first"))
    if number < ROWS // 8:
        with crash_at(number, after=after):
            deliver(options, 7, staged(options, "second"))
    # Spark runs the batch again, and its rows may be others each time.
    deliver(options, 7, staged(options, "third"))
    found = values(node, topic)
    assert len(found) == ROWS
    assert set(found.values()) == {1}
    assert all(value.startswith("first") for value in found)
    # And again, when it died before Spark had noted that the batch was done.
    deliver(options, 7, staged(options, "fourth"))
    assert values(node, topic) == found
    deliver(options, 8, staged(options, "next"))
    assert len(values(node, topic)) == 2 * ROWS
    assert not list(options.staging_directory.glob("*/*.batches"))


def test_a_batch_is_not_taken_for_another_writers(
    node: Node, topic: str, options: SinkOptions, produce: Produce
) -> None:
    with crash_at(3, after=True):
        deliver(options, 0, staged(options, "mine"))
    produce(topic, 30)
    deliver(options, 0, staged(options, "mine again"))
    found = values(node, topic)
    assert sum(found.values()) == len(found) == ROWS + 30


def test_a_broker_that_comes_back_is_waited_for(
    node: Node, topic: str, options: SinkOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce, sent = delivery.produce, 0

    async def killing(cluster: Cluster, topic: str, partition: int, batch: bytes) -> None:
        nonlocal sent
        sent += 1
        if sent == 5:
            node.kill()
            node.start()
        await produce(cluster, topic, partition, batch)

    monkeypatch.setattr(delivery, "produce", killing)
    deliver(options, 0, staged(options, "row"))
    found = values(node, topic)
    assert sum(found.values()) == len(found) == ROWS


def test_two_drivers_with_one_checkpoint_write_one_of_their_batches(
    node: Node, topic: str, options: SinkOptions
) -> None:
    mine, others = staged(options, "mine"), staged(options, "others")
    with crash_at(4, after=True):
        deliver(options, 0, mine)
    deliver(options, 0, others)
    assert {value.split("-")[0] for value in values(node, topic)} == {"mine"}


def test_a_staged_file_that_the_driver_cannot_see_is_an_error(
    topic: str, options: SinkOptions
) -> None:
    tasks = staged(options, "row")
    for path in options.staging_directory.glob("*/*.batches"):
        path.unlink()
    with pytest.raises(DataLost, match="the driver has to see the stagingDirectory"):
        deliver(options, 0, tasks)


def test_a_staged_batch_that_was_damaged_is_not_written(
    node: Node, topic: str, options: SinkOptions
) -> None:
    tasks = staged(options, "row")
    for path in options.staging_directory.glob("*/*.batches"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    with pytest.raises(Damaged, match=r"the batch at byte \d+ of the staged file '.+' in"):
        deliver(options, 0, tasks)
    assert sum(values(node, topic).values()) < ROWS
