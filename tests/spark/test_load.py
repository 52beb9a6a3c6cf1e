"""Where the load is, as records and usage lines tell it."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from tests.harness.node import Node
from tests.spark.conftest import Run

from duolog_pipelines.lake import Lake
from duolog_pipelines.load.measures import growth, hot_keys, partition_loads
from duolog_pipelines.registry import pipeline

DAY_MS = 86_400_000


def test_skew_and_hot_keys_are_measured_exactly(spark: SparkSession) -> None:
    rows = [("t", 0, b"hot", 100)] * 60 + [("t", 0, None, 100)] * 20
    rows += [("t", 1, b"%d" % number, 100) for number in range(20)]
    records = spark.createDataFrame(rows, "topic STRING, partition INT, key BINARY, bytes LONG")
    known = spark.createDataFrame(
        [("t", 0), ("t", 1), ("t", 2), ("idle", 0)], "topic STRING, partition INT"
    )
    loads = {
        (row.topic, row.partition): (row.records, row.bytes_per_second, row.share, row.skew)
        for row in partition_loads(records, known, 10.0).collect()
    }
    assert loads == {
        ("t", 0): (80, 800.0, 0.8, pytest.approx(2.4)),
        ("t", 1): (20, 200.0, 0.2, pytest.approx(0.6)),
        ("t", 2): (0, 0.0, 0.0, 0.0),
        ("idle", 0): (0, 0.0, None, None),
    }
    (hot,) = hot_keys(records, 0.1).collect()
    assert (bytes(hot.key), hot.partition, hot.records, hot.share) == (b"hot", 0, 60, 0.6)


def test_growth_is_that_of_all_nodes_together(spark: SparkSession) -> None:
    lines = [
        (node, "queue", "orders", day * DAY_MS + node, 1_000 * node + 100 * node * day)
        for node in (1, 2)
        for day in range(5)
    ]
    lines.append((1, "topic", "events", 0, 7))
    frame = spark.createDataFrame(
        lines, "node INT, kind STRING, resource STRING, to_ms LONG, bytes LONG"
    )
    found = {(row.kind, row.name): row for row in growth(frame).collect()}
    assert found["queue", "orders"].bytes == 1_400 + 2_800
    assert found["queue", "orders"].bytes_per_day == pytest.approx(300)
    assert found["node", "1"].bytes_per_day == pytest.approx(100)
    assert found["node", "1"].bytes == 1_407
    assert found["topic", "events"].bytes_per_day is None


def test_a_busy_topic_is_advised_to_grow(
    node: Node, new_topic: Callable[..., str], run: Run, lake: Lake
) -> None:
    topic = new_topic(partitions=1)
    producer = Producer({"bootstrap.servers": node.kafka})
    producer.produce(topic, b"x" * 1_000, key=b"old", timestamp=int(time.time() - 7_200) * 1000)
    for number in range(100):
        producer.produce(topic, b"x" * 1_000, key=b"hot" if number < 30 else b"%d" % number)
    assert producer.flush(30) == 0
    done = run("load", window_seconds="600", partition_rate="50")
    (mine,) = [row for row in lake.rows("load_partitions") if row["topic"] == topic]
    assert (mine["records"], mine["stored_records"]) == (100, 101)
    assert mine["stored_bytes"] > 100_000
    (hot,) = [row for row in lake.rows("load_hot_keys") if row["topic"] == topic]
    assert (hot["key"], hot["records"], hot["share"]) == (b"hot", 30, 0.3)
    # Nobody has run the pipeline `usage` here.
    (grown,) = [row for row in lake.rows("load_growth") if row["name"] == topic]
    assert (grown["bytes"], grown["samples"]) == (mine["stored_bytes"], 0)
    assert grown["bytes_per_day"] == pytest.approx(mine["bytes"] * 86_400 / 600)
    advice = json.loads(Path(done.facts["advice"]).read_text())
    (action,) = [each for each in advice["actions"] if each["topic"] == topic]
    assert (action["type"], action["partitions"]) == ("add_partitions", 3)
    (section,) = pipeline("load").sections(lake)
    assert "Advice, for `duolog cluster apply`" in [table.title for table in section.tables]
