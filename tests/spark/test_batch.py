"""What `spark.read.format("duolog")` gives."""

import json
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from tests.harness.node import Node
from tests.spark.conftest import Produce

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"


def numbers(frame: DataFrame) -> list[int]:
    return sorted(int(bytes(row.value)) for row in frame.select("value").collect())


def test_columns_are_those_of_sparks_kafka_source(
    batch: DataFrameReader, node: Node, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": node.kafka})
    headers = [("trace", b"7"), ("trace", None)]
    producer.produce(topic, b"v0", b"k0", partition=1, timestamp=1_700_000_000_123, headers=headers)
    producer.produce(topic, None, None, partition=1, timestamp=1_700_000_000_124)
    producer.flush(10)
    frame = batch.option("subscribe", topic).option("includeHeaders", "true").load()
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    first, second = (
        frame.selectExpr("*", "unix_millis(timestamp) AS ms").orderBy("offset").collect()
    )
    assert (bytes(first.key), bytes(first.value), first.topic) == (b"k0", b"v0", topic)
    assert (first.partition, first.offset, first.timestampType) == (1, 0, 0)
    assert first.ms == 1_700_000_000_123
    assert [tuple(each) for each in first.headers] == [("trace", b"7"), ("trace", None)]
    assert (second.key, second.value, second.headers) == (None, None, None)
    assert second.ms == 1_700_000_000_124


def test_a_narrower_schema_is_honoured(
    batch: DataFrameReader, topic: str, produce: Produce
) -> None:
    produce(topic, 10)
    frame = batch.schema("offset LONG, topic STRING").option("subscribe", topic).load()
    assert frame.columns == ["offset", "topic"]
    assert sorted(row.offset for row in frame.collect()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_compressed_batches_are_read(batch: DataFrameReader, node: Node, topic: str) -> None:
    for part, codec in enumerate(["none", "gzip", "snappy", "lz4", "zstd"]):
        producer = Producer(
            {"bootstrap.servers": node.kafka, "compression.type": codec, "linger.ms": 20}
        )
        for number in range(part * 200, part * 200 + 200):
            producer.produce(topic, str(number), partition=0)
        producer.flush(10)
    assert numbers(batch.option("subscribe", topic).load()) == list(range(1000))


def test_offsets_say_what_is_read(batch: DataFrameReader, topic: str, produce: Produce) -> None:
    produce(topic, 20)
    starting = json.dumps({topic: {"0": 2, "1": -2}})
    ending = json.dumps({topic: {"0": 4, "1": -1}})
    frame = batch.option("subscribe", topic).option("startingOffsets", starting)
    read = numbers(frame.option("endingOffsets", ending).load())
    assert read == sorted([4, 6, *range(1, 20, 2)])


def test_partitions_can_be_assigned_and_split(
    batch: DataFrameReader, topic: str, produce: Produce
) -> None:
    produce(topic, 100)
    assigned = batch.option("assign", json.dumps({topic: [1]}))
    frame = assigned.option("minPartitions", "5").load()
    assert frame.rdd.getNumPartitions() == 5
    assert numbers(frame) == list(range(1, 100, 2))


def test_a_pattern_finds_topics_but_no_internal_ones(
    batch: DataFrameReader, new_topic: Callable[..., str], produce: Produce
) -> None:
    for name in ("pattern-a", "pattern-b", "other-pattern-a"):
        produce(new_topic(name=name), 4)
    frame = batch.option("subscribePattern", "pattern-.*|__.*").load()
    assert {row.topic for row in frame.select("topic").distinct().collect()} == {
        "pattern-a",
        "pattern-b",
    }


def test_a_read_begins_at_a_time(batch: DataFrameReader, node: Node, topic: str) -> None:
    producer = Producer({"bootstrap.servers": node.kafka})
    for number in range(10):
        producer.produce(topic, str(number), partition=0, timestamp=1_700_000_000_000 + number)
    producer.flush(10)
    frame = batch.option("subscribe", topic).option("startingTimestamp", "1700000000007")
    assert numbers(frame.load()) == [7, 8, 9]


@pytest.mark.parametrize(
    ("condition", "left", "planned"),
    [
        ("partition = 1 AND offset >= 3 AND offset < 6", [7, 9, 11], 1),
        ("timestamp >= timestamp_millis(1700000000019)", [19], 1),
    ],
)
def test_filters_narrow_what_is_read_where_push_down_is_on(
    spark: SparkSession,
    batch: DataFrameReader,
    node: Node,
    topic: str,
    condition: str,
    left: list[int],
    planned: int,
) -> None:
    producer = Producer({"bootstrap.servers": node.kafka})
    for number in range(20):
        at = 1_700_000_000_000 + number
        producer.produce(topic, str(number), partition=number % 2, timestamp=at)
    producer.flush(10)
    everything = batch.option("subscribe", topic)
    assert numbers(everything.load().where(condition)) == left
    spark.conf.set(PUSH_DOWN, "true")
    try:
        narrowed = everything.load().where(condition)
        assert numbers(narrowed) == left
        assert narrowed.rdd.getNumPartitions() == planned
    finally:
        spark.conf.unset(PUSH_DOWN)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": "no-such-topic"}, "there is no topic 'no-such-topic'"),
        ({"subscribe": "t", "maxOffsets": "3"}, "there is no option 'maxoffsets'"),
    ],
)
def test_a_wrong_option_is_named(
    batch: DataFrameReader, options: dict[str, str], said: str
) -> None:
    with pytest.raises(PySparkException, match=said):
        batch.options(**options).load().collect()


def test_an_unknown_column_is_named(batch: DataFrameReader, topic: str) -> None:
    with pytest.raises(PySparkException, match="there is no column 'colour'"):
        batch.schema("colour STRING").option("subscribe", topic).load().collect()
