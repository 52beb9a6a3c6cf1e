"""The same confluent-kafka client for every server that speaks Kafka's protocol."""

from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from bench.peers.peer import MESSAGE, SECONDS_MAX, WINDOW, timed
from bench.processes import Server
from bench.samples import Sample

POLL_SECONDS = 0.1


def produce(server: Server, topic: str, messages: int) -> Sample:
    producer = Producer(
        {
            "bootstrap.servers": server.address,
            "acks": "all",
            "linger.ms": 0,
            "queue.buffering.max.messages": WINDOW,
        }
    )
    failures: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Any) -> None:
        if error is not None:
            failures.append(error)

    def work() -> None:
        for _ in range(messages):
            while True:
                try:
                    producer.produce(topic, MESSAGE, partition=0, on_delivery=on_delivery)
                    break
                except BufferError:
                    producer.poll(POLL_SECONDS)
        left = producer.flush(SECONDS_MAX)
        assert not left, f"{left} messages were never acknowledged"
        assert not failures, str(failures[0])

    producer.list_topics(topic, timeout=10)
    return timed(server, messages, work)


def consume(server: Server, topic: str, messages: int) -> Sample:
    consumer = Consumer(
        {"bootstrap.servers": server.address, "group.id": "bench", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])

    def work() -> None:
        seen = 0
        while seen < messages:
            batch = consumer.consume(WINDOW, timeout=SECONDS_MAX)
            assert batch, f"{messages - seen} messages never came"
            seen += len(batch)

    sample = timed(server, messages, work)
    consumer.close()
    return sample
