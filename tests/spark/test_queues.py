"""The messages of a queue, as Spark sees them."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.harness import sqs
from tests.harness.node import Node


@pytest.fixture
def client(node: Node) -> Any:
    return sqs.client(node.sqs)


@pytest.fixture
def read(spark: SparkSession, node: Node) -> Callable[..., DataFrame]:
    def load(queue: str, **options: str) -> DataFrame:
        reader = spark.read.format("duolog").option("queue", queue)
        return reader.option("adminAddress", node.admin).options(**options).load()

    return load


def test_messages_are_rows_with_what_became_of_them(
    client: Any, read: Callable[..., DataFrame]
) -> None:
    name = sqs.new_name("spark-queue")
    url = client.create_queue(QueueName=name)["QueueUrl"]
    attributes = {
        "colour": {"DataType": "String", "StringValue": "red"},
        "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    sent = set()
    for number in range(12):
        body = f"body {number}"
        answer = client.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)
        sent.add(answer["MessageId"])
    received = client.receive_message(QueueUrl=url, MaxNumberOfMessages=3)["Messages"]
    rows = read(name).collect()
    assert {row.message_id for row in rows} == sent
    assert {bytes(row.value) for row in rows} == {b"body %d" % number for number in range(12)}
    hidden = {row.message_id: row for row in rows if row.state == "in_flight"}
    assert hidden.keys() == {message["MessageId"] for message in received}
    assert {row.receive_count for row in hidden.values()} == {1}
    assert {row.queue for row in rows} == {name}
    assert {each.key: bytes(each.value) for each in rows[0].headers} == {
        "colour": b"red",
        "raw": b"\x00\xff",
    }
    assert all(row.timestamp.year >= 2020 for row in rows)
    assert read(name, queueState="ready").count() == 12 - len(received)


def test_a_queue_that_is_not_there_is_named(read: Callable[..., DataFrame]) -> None:
    with pytest.raises(PySparkException, match="queue 'no-such-queue': there is no such queue"):
        read("no-such-queue").collect()


def test_the_state_of_a_queue_is_no_stream(spark: SparkSession, node: Node) -> None:
    reader = spark.readStream.format("duolog").option("queue", "q")
    frame = reader.option("adminAddress", node.admin).load()
    query = frame.writeStream.format("noop").start()
    with pytest.raises(PySparkException, match="is no stream"):
        query.awaitTermination(60)
