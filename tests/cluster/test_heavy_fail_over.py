"""Groups and queues with a long history are served again soon after a fail-over.

How many leases were lost is printed, not asserted: a host without CPU for seconds can cost one.
"""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from tests.harness.cluster import Cluster
from tests.harness.sqs import Queue, client

PARTITIONS = 24
QUEUES = 8
HANDLED = int(os.environ.get("DUOLOG_HANDLED", "500"))
"""Messages of each queue."""
BATCH = 10
SERVED_SECONDS_MAX = 60.0
"""Far more than it takes; survivors that starve their leases take minutes."""
TIMES = int(os.environ.get("DUOLOG_COMMITS", "1800")) // 6
SETTINGS = {"offsets.topic.num.partitions": 3}


def commit_often(cluster: Cluster, groups: list[str], times: int) -> None:
    """Commits every partition of the topic, over and over, as a few busy groups do."""
    consumers = [
        Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
            }
        )
        for group in groups
    ]
    for number in range(times):
        for consumer in consumers:
            offsets = [TopicPartition("orders", index, number) for index in range(PARTITIONS)]
            consumer.commit(offsets=offsets, asynchronous=False)
    for consumer in consumers:
        consumer.close()


def until_committed(cluster: Cluster, groups: list[str], offset: int) -> float:
    """Seconds until every group's offsets are told again."""
    began = time.monotonic()
    for group in groups:
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
        wanted = [TopicPartition("orders", index) for index in range(PARTITIONS)]
        while True:
            assert time.monotonic() - began < SERVED_SECONDS_MAX, "offsets are not served"
            try:
                found = consumer.committed(wanted, timeout=2)
            except KafkaException:
                continue
            assert [each.offset for each in found] == [offset] * PARTITIONS
            break
        consumer.close()
    return time.monotonic() - began


def leases_lost(cluster: Cluster) -> int:
    return sum(len(re.findall("the lease has ended", node.log_text)) for node in cluster.running)


@pytest.mark.timeout(300)
def test_groups_with_many_commits_are_served_again_soon(tmp_path: Path) -> None:
    with Cluster(tmp_path, settings=SETTINGS) as cluster:
        cluster.until_settled()
        cluster.create_topic("orders", PARTITIONS)
        groups = [f"group-{number}" for number in range(6)]
        commit_often(cluster, groups, TIMES)
        victim = cluster.nodes[1]
        victim.kill()
        seconds = until_committed(cluster, groups, TIMES - 1)
        print(f"served again after {seconds:.1f} s, {leases_lost(cluster)} leases lost")
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        failed: list[object] = []

        def note(error: object, _: object) -> None:
            if error is not None:
                failed.append(error)

        for _ in range(100):
            producer.produce("orders", b"x", on_delivery=note)
        assert producer.flush(30) == 0
        assert failed == []


def handle(cluster: Cluster, name: str, messages: int) -> None:
    """Sends, receives and deletes so many messages of a FIFO queue, ten at a time."""
    queue = Queue.create(client(cluster.sqs), name, FifoQueue=True)
    for first in range(0, messages, BATCH):
        entries = [
            {
                "Id": str(each),
                "MessageBody": "x" * 100,
                "MessageGroupId": f"group-{each % 100}",
                "MessageDeduplicationId": str(each),
            }
            for each in range(first, first + BATCH)
        ]
        assert "Failed" not in queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
        got = queue.sqs.receive_message(
            QueueUrl=queue.url, MaxNumberOfMessages=BATCH, WaitTimeSeconds=5
        )["Messages"]
        done = [
            {"Id": str(place), "ReceiptHandle": each["ReceiptHandle"]}
            for place, each in enumerate(got)
        ]
        queue.sqs.delete_message_batch(QueueUrl=queue.url, Entries=done)


def until_served(cluster: Cluster, name: str) -> None:
    """Until a message that is sent now is received, whichever node leads the queue."""
    deadline = time.monotonic() + SERVED_SECONDS_MAX
    while True:
        assert time.monotonic() < deadline, f"{name} is not served"
        try:
            queue = Queue(client(cluster.sqs), "")
            queue.url = queue.sqs.get_queue_url(QueueName=name)["QueueUrl"]
            queue.sqs.send_message(
                QueueUrl=queue.url,
                MessageBody="x",
                MessageGroupId="new",
                MessageDeduplicationId="a",
            )
            if queue.sqs.receive_message(QueueUrl=queue.url, WaitTimeSeconds=2).get("Messages"):
                return
        except (ClientError, BotoCoreError):
            time.sleep(0.05)


@pytest.mark.timeout(300)
def test_busy_fifo_queues_are_served_again_soon(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.until_settled()
        names = [f"orders-{number}.fifo" for number in range(QUEUES)]
        with ThreadPoolExecutor(QUEUES) as pool:
            list(pool.map(lambda name: handle(cluster, name, HANDLED), names))
        cluster.nodes[1].kill()
        began = time.monotonic()
        for name in names:
            until_served(cluster, name)
        seconds = time.monotonic() - began
        print(f"served again after {seconds:.1f} s, {leases_lost(cluster)} leases lost")
