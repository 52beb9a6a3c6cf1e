"""A Kafka producer, and a consumer group whose two members share a topic's partitions.

Shows: an idempotent producer with acks=all, keys that decide the partition, a group that divides
four partitions between its members, and offsets that are committed after the work.

    make run                                       # in another terminal
    .venv/bin/python examples/kafka_group.py
"""

import os
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

KAFKA = os.environ.get("DUOLOG_KAFKA_LISTEN", "127.0.0.1:9092")
TOPIC = "measurements"
PARTITIONS = 4
RECORDS = 1_000
SECONDS_MAX = 60.0


def create_topic() -> None:
    # Its answers end with it, so that it must have a name until they are there.
    admin = AdminClient({"bootstrap.servers": KAFKA})
    try:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def produce() -> None:
    producer = Producer({"bootstrap.servers": KAFKA, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(TOPIC, key=f"sensor-{number % 20}", value=str(number))
    assert producer.flush(30) == 0, "some records were not acknowledged"
    print(f"produced {RECORDS} records")


def join_group() -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": KAFKA,
            "group.id": "dashboards",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def share(members: list[Consumer], deadline: float) -> None:
    """Until each member has as many partitions as the others."""
    fair = PARTITIONS // len(members)
    while any(len(each.assignment()) != fair for each in members):
        assert time.monotonic() < deadline, "the group did not come to rest"
        for each in members:
            # What comes before all have joined is read again by who gets the partition.
            each.poll(0.1)


def consume(members: list[Consumer], deadline: float) -> Counter[int]:
    """How many new records each member read of what the group had not committed."""
    read: Counter[int] = Counter()
    for each in members:
        for place in each.committed(each.assignment()):
            place.offset = max(place.offset, 0)
            each.seek(place)
    while read.total() < RECORDS:
        assert time.monotonic() < deadline, f"only {read.total()} records came"
        for number, each in enumerate(members, start=1):
            records = each.consume(500, timeout=0.1)
            read[number] += sum(record.error() is None for record in records)
            if records:
                each.commit(asynchronous=False)
    return read


def main() -> None:
    create_topic()
    produce()
    deadline = time.monotonic() + SECONDS_MAX
    members = [join_group(), join_group()]
    share(members, deadline)
    read = consume(members, deadline)
    for number, count in sorted(read.items()):
        partitions = len(members[number - 1].assignment())
        print(f"member {number} read {count} records of {partitions} partitions")
    print(f"together {read.total()}")
    for each in members:
        each.close()


if __name__ == "__main__":
    main()
