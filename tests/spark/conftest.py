"""One Spark session and one node for all of these tests; every test has topics of its own."""

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.streaming import DataStreamReader
from tests.harness.node import Node

from duolog_pipelines.lake import Lake
from duolog_pipelines.pipeline import Outcome
from duolog_pipelines.registry import pipeline
from duolog_pipelines.running import Place, Runner

PARTITIONS = 2

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if shutil.which("java"):
        return
    for each in items:
        if "tests/spark/" in each.nodeid:
            each.add_marker(pytest.mark.skip(reason="Spark needs Java 17 or newer"))


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with Node(tmp_path_factory.mktemp("spark-node")) as node:
        yield node


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("duolog-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark-scratch")))
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark-warehouse")))
        .config("spark.python.daemon.module", "pyspark_duolog.daemon")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def admin(node: Node) -> AdminClient:
    return AdminClient({"bootstrap.servers": node.kafka})


@pytest.fixture
def new_topic(admin: AdminClient) -> Callable[..., str]:
    def make(partitions: int = PARTITIONS, name: str | None = None, **configs: str) -> str:
        name = name or f"topic-{next(_numbers)}"
        config = {key.replace("_", "."): value for key, value in configs.items()}
        topics = [NewTopic(name, partitions, 1, config=config)]
        for future in admin.create_topics(topics).values():
            future.result()
        return name

    return make


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic()


Produce = Callable[..., None]


@pytest.fixture
def produce(node: Node) -> Produce:
    """Values `first`, `first + 1`, … in turn to each partition, in batches of at most so many."""

    def send(
        topic: str,
        count: int,
        first: int = 0,
        partitions: int = PARTITIONS,
        batch: int = 10_000,
    ) -> None:
        producer = Producer(
            {"bootstrap.servers": node.kafka, "linger.ms": 5, "batch.num.messages": batch}
        )
        for number in range(first, first + count):
            producer.produce(topic, str(number), partition=number % partitions)
        assert producer.flush(30) == 0

    return send


@pytest.fixture
def batch(spark: SparkSession, node: Node) -> DataFrameReader:
    return spark.read.format("duolog").option("kafka.bootstrap.servers", node.kafka)


@pytest.fixture
def stream(spark: SparkSession, node: Node) -> DataStreamReader:
    return (
        spark.readStream.format("duolog")
        .option("kafka.bootstrap.servers", node.kafka)
        .option("startingOffsets", "earliest")
    )


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


Run = Callable[..., Outcome]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.within(tmp_path)


@pytest.fixture
def run(spark: SparkSession, node: Node, lake: Lake) -> Run:
    """One round of a pipeline, with options."""

    def once(name: str, **options: str) -> Outcome:
        runner = Runner(spark, Place(node.kafka, node.admin, lake))
        return runner.run(pipeline(name), options).outcome

    return once
