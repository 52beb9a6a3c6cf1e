"""One order book, read as a queue and as a topic, and played again.

Shows what one log with two doors is for. A warehouse takes orders from the queue: one receiver
each, gone when they are deleted. An auditor reads the same records from the topic, and takes
nothing away. Then the warehouse burns down, and the orders are delivered to it again.

    make run                                       # in another terminal
    .venv/bin/python examples/order_book.py
"""

import json
import os
import time
import urllib.request

import boto3
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

SQS = os.environ.get("DUOLOG_SQS_LISTEN", "127.0.0.1:9324")
KAFKA = os.environ.get("DUOLOG_KAFKA_LISTEN", "127.0.0.1:9092")
ADMIN = os.environ.get("DUOLOG_ADMIN_LISTEN", "127.0.0.1:9325")
BOOK = "order-book"
ORDERS = ["3 lamps", "1 chair", "2 tables"]
RETAIN_SECONDS = 3_600
SECONDS_MAX = 60.0

sqs = boto3.client(
    "sqs",
    endpoint_url=f"http://{SQS}",
    region_name="us-east-1",
    aws_access_key_id="any",
    aws_secret_access_key="any",
)


def fulfil(url: str, who: str) -> None:
    """Take as many orders as there are in the book, and delete them."""
    done: list[str] = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(done) < len(ORDERS):
        assert time.monotonic() < deadline, f"only {done} came"
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5)
        for message in answer.get("Messages", []):
            done.append(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    print(f"{who}: {', '.join(sorted(done))}")


def audit(since: float) -> None:
    """Every record of the topic since then, whatever has become of it in the queue."""
    consumer = Consumer(
        {"bootstrap.servers": KAFKA, "group.id": "auditors", "enable.partition.eof": True}
    )
    partitions = consumer.list_topics(BOOK).topics[BOOK].partitions
    consumer.assign([TopicPartition(BOOK, each, OFFSET_BEGINNING) for each in partitions])
    read: list[str] = []
    unread = set(partitions)
    while unread:
        record = consumer.poll(SECONDS_MAX)
        assert record is not None, "the topic has an end"
        if record.error():
            unread.discard(record.partition())
        elif record.timestamp()[1] >= int(since * 1000):
            read.append((record.value() or b"").decode())
    consumer.close()
    print(f"auditor: {', '.join(sorted(read))}")


def replay(since: float) -> None:
    """Deliver again what was sent since then: the deleted messages are still in the log."""
    span = {"from_ms": int(since * 1000), "to_ms": int(time.time() * 1000) + 1_000}
    asked = urllib.request.Request(
        f"http://{ADMIN}/queues/{BOOK}/replay", json.dumps(span).encode(), method="POST"
    )
    with urllib.request.urlopen(asked, timeout=SECONDS_MAX) as answer:
        print("replayed:", json.loads(answer.read()))


def main() -> None:
    begun = time.time()
    attributes = {"duolog:RetainDeleted": str(RETAIN_SECONDS)}
    url = sqs.create_queue(QueueName=BOOK, Attributes=attributes)["QueueUrl"]
    for order in ORDERS:
        sqs.send_message(QueueUrl=url, MessageBody=order)
    fulfil(url, "warehouse")
    audit(begun)
    replay(begun)
    fulfil(url, "new warehouse")


if __name__ == "__main__":
    main()
