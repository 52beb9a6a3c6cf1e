"""What an operator sees while clients are at work: metrics, lag, descriptors."""

import os
import time
import urllib.request

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.harness.node import Node

SECONDS_MAX = 10.0


def scrape(node: Node, path: str = "/metrics") -> dict[str, float]:
    with urllib.request.urlopen(f"http://{node.admin}{path}", timeout=SECONDS_MAX) as answer:
        lines = answer.read().decode().splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def requests(operation: str, status: str) -> str:
    return f'duolog_requests_total{{operation="{operation}",protocol="kafka",status="{status}"}}'


def produce(address: str, topic: str, value: bytes, count: int) -> None:
    producer = Producer({"bootstrap.servers": address})
    for _ in range(count):
        producer.produce(topic, value)
    assert producer.flush(SECONDS_MAX) == 0


def test_metrics_tell_what_was_produced_fetched_and_refused(lone_node: Node, topic: str) -> None:
    before = scrape(lone_node)
    produce(lone_node.kafka, topic, b"x" * 1000, 100)
    consumer = Consumer({"bootstrap.servers": lone_node.kafka, "group.id": f"group-of-{topic}"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert len(consumer.consume(100, SECONDS_MAX)) == 100
    consumer.close()
    admin = AdminClient({"bootstrap.servers": lone_node.kafka})
    assert admin.delete_topics(["never-made"])["never-made"].exception(SECONDS_MAX) is not None
    after = scrape(lone_node)

    def grown(name: str) -> float:
        return after[name] - before[name]

    assert grown("duolog_partition_bytes_in_total") >= 100_000
    assert grown("duolog_partition_bytes_out_total") >= 100_000
    assert grown(requests("produce", "ok")) >= 1
    assert grown(requests("fetch", "ok")) >= 1
    assert grown(requests("delete_topics", "error")) == 1
    assert after["duolog_fsync_duration_seconds_count"] > 0


def test_a_groups_lag_is_what_it_has_not_committed(lone_node: Node, topic: str, group: str) -> None:
    produce(lone_node.kafka, topic, b"x", 10)
    consumer = Consumer({"bootstrap.servers": lone_node.kafka, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    consumer.close()
    lag = scrape(lone_node, f"/metrics/detailed?group={group}")
    labels = f'group="{group}",partition="0",topic="{topic}"'
    assert lag == {f"duolog_consumer_group_lag{{{labels}}}": 6}


def test_a_deleted_topic_leaves_no_open_files(lone_node: Node, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": lone_node.kafka})

    def open_files() -> int:
        return len(os.listdir(f"/proc/{lone_node.pid}/fd"))

    before = open_files()
    for _ in range(5):
        admin.create_topics([NewTopic(topic, 8)])[topic].result(SECONDS_MAX)
        produce(lone_node.kafka, topic, b"x", 100)
        admin.delete_topics([topic])[topic].result(SECONDS_MAX)
    deadline = time.monotonic() + SECONDS_MAX
    while open_files() > before + 8 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert open_files() <= before + 8
