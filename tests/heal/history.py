"""The past of a busy cluster: queues that have handled many messages, groups that have committed
often."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread

from confluent_kafka import Consumer, TopicPartition
from tests.harness.cluster import Cluster
from tests.harness.sqs_line import SqsLine

BATCH = 10
BODY = "x" * 100
MESSAGE_GROUPS = 100
LOOK_SECONDS = 0.05


def commit_often(bootstrap: str, topic: str, partitions: int, group: str, times: int) -> None:
    """Commits all partitions of the topic so many times; the offsets are 0, 1, 2, …"""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        for offset in range(times):
            places = [TopicPartition(topic, index, offset) for index in range(partitions)]
            consumer.commit(offsets=places, asynchronous=False)
    finally:
        consumer.close()


def handle(cluster: Cluster, url: str, messages: int) -> None:
    """Sends, receives and deletes so many messages of a queue."""
    is_fifo = url.endswith(".fifo")
    with SqsLine(cluster.sqs, cluster.credentials) as line:
        for first in range(0, messages, BATCH):
            entries = [_entry(number, is_fifo) for number in range(first, first + BATCH)]
            assert not line.call("SendMessageBatch", QueueUrl=url, Entries=entries).get("Failed")
            _take(line, url)
        while _take(line, url):
            pass


def _entry(number: int, is_fifo: bool) -> dict[str, str]:
    entry = {"Id": str(number), "MessageBody": BODY}
    if is_fifo:
        entry["MessageGroupId"] = f"past-{number % MESSAGE_GROUPS}"
        entry["MessageDeduplicationId"] = f"past-{number}"
    return entry


def _take(line: SqsLine, url: str) -> int:
    found = line.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=BATCH)
    messages = found.get("Messages", [])
    if messages:
        receipts = [
            {"Id": str(at), "ReceiptHandle": each["ReceiptHandle"]}
            for at, each in enumerate(messages)
        ]
        line.call("DeleteMessageBatch", QueueUrl=url, Entries=receipts)
    return len(messages)


def write_history(
    cluster: Cluster,
    queues: Sequence[str],
    handled: int,
    topic: str,
    partitions: int,
    groups: Sequence[str],
    commits: int,
) -> None:
    """`handled` messages of each queue, `commits` of each group: all side by side."""
    works = [partial(handle, cluster, url, handled) for url in queues]
    works += [
        partial(commit_often, cluster.bootstrap, topic, partitions, group, commits)
        for group in groups
    ]
    failures: list[BaseException] = []
    threads = [Thread(target=_noting, args=(work, failures), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    # Not by an executor: it would wait for commits to a cluster that is gone, which never end.
    while any(thread.is_alive() for thread in threads):
        if failures:
            break
        time.sleep(LOOK_SECONDS)
    if failures:
        raise failures[0]


def _noting(work: Callable[[], None], failures: list[BaseException]) -> None:
    try:
        work()
    except BaseException as failure:
        failures.append(failure)
