"""An audit finds what became of every message, and exactly what never came or came twice."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from tests.harness import sqs
from tests.harness.node import Node
from tests.spark.conftest import Run

from duolog.records.changes import Cause
from duolog_pipelines.audit import events
from duolog_pipelines.audit.events import DELIVERED, ENDED, REPLAYED, SCHEMA, TRIMMED
from duolog_pipelines.audit.fates import FATES, clipped, fates, messages
from duolog_pipelines.audit.numbering import PRODUCER, SEQUENCE
from duolog_pipelines.errors import Missing
from duolog_pipelines.lake import Lake
from duolog_pipelines.registry import pipeline

MESSAGES = 60
NO_QUEUE = ","


def random_events(chance: random.Random) -> list[tuple[Any, ...]]:
    """What a journal of one partition may tell, in order."""
    told = []
    for position in range(60):
        at = chance.randrange(MESSAGES)
        match chance.choice([DELIVERED, DELIVERED, ENDED, ENDED, TRIMMED, REPLAYED]):
            case "delivered":
                told.append((position, 0, DELIVERED, at, at + 1, events.NO_CAUSE, position))
            case "ended":
                told.append((position, 0, ENDED, at, at + 1, chance.choice(range(5)), position))
            case "trimmed" if position % 7 == 0:
                told.append((position, 0, TRIMMED, 0, at, chance.choice([5, 6, 7]), position))
            case "replayed" if position % 5 == 0:
                end = min(MESSAGES, at + 20)
                told.append((position, 0, REPLAYED, at, end, events.NO_CAUSE, position))
    return told


def expected(told: list[tuple[Any, ...]], start_offset: int) -> dict[int, tuple[str, int]]:
    """The fate of each message and how often it was delivered, one event after the other."""
    ends: dict[int, int] = {}
    deliveries: Counter[int] = Counter()
    for _, _, kind, first, end, cause, _ in told:
        for at in range(first, end):
            if kind == REPLAYED:
                ends.pop(at, None)
            elif kind == DELIVERED or (kind == ENDED and cause == Cause.HANDED_OUT):
                deliveries[at] += 1
            if kind in (ENDED, TRIMMED):
                ends.setdefault(at, cause)
    left = {at: "removed" if at < start_offset else "there" for at in range(MESSAGES)}
    return {at: (FATES[Cause(ends[at])] if at in ends else left[at], deliveries[at]) for at in left}


def test_the_fate_of_a_message_is_that_of_replaying_its_journal(spark: SparkSession) -> None:
    chance = random.Random(7)
    journals = [random_events(chance) for _ in range(25)]
    starts = [chance.randrange(MESSAGES // 2) for _ in journals]
    rows = [
        (f"queue-{index % 3}", index, *event)
        for index, told in enumerate(journals)
        for event in told
    ]
    fields = [each for each in SCHEMA.fields if each.name != "topic"]
    names = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in fields)
    frame = spark.createDataFrame(rows, f"queue STRING, {names}")
    ranges = spark.createDataFrame(
        [(f"queue-{index % 3}", index, 0, MESSAGES, start) for index, start in enumerate(starts)],
        "queue STRING, partition INT, offset LONG, next_offset LONG, start_offset LONG",
    )
    no_epochs = spark.createDataFrame(
        [], "queue STRING, partition INT, epoch INT, meant_offset LONG"
    )
    found: dict[int, dict[int, tuple[str, int]]] = {}
    for row in fates(messages(ranges), clipped(frame, no_epochs)).collect():
        found.setdefault(row.partition, {})[row.offset] = (row.fate, row.deliveries)
    for index, (told, start) in enumerate(zip(journals, starts, strict=True)):
        assert found[index] == expected(told, start)


def test_what_an_older_leader_knew_of_messages_that_were_lost_is_not_meant(
    spark: SparkSession,
) -> None:
    columns = (
        "queue STRING, partition INT, position LONG, epoch INT, kind STRING, offset LONG,"
        " next_offset LONG, cause INT, time_ms LONG"
    )
    told = [
        ("q", 0, 0, 1, ENDED, 3, 4, 0, 0),
        ("q", 0, 1, 1, ENDED, 5, 6, 0, 0),
        ("q", 0, 2, 1, TRIMMED, 0, 9, 5, 0),
        ("q", 0, 3, 2, ENDED, 5, 6, 0, 0),
    ]
    epochs = spark.createDataFrame(
        [("q", 0, 1, 5)], "queue STRING, partition INT, epoch INT, meant_offset LONG"
    )
    left = clipped(spark.createDataFrame(told, columns), epochs).orderBy("position").collect()
    assert [(row.position, row.offset, row.next_offset) for row in left] == [
        (0, 3, 4),
        (2, 0, 5),
        (3, 5, 6),
    ]


def send(node: Node, topic: str, producer: str, numbers: list[int], **more: Any) -> None:
    client = Producer({"bootstrap.servers": node.kafka})
    for number in numbers:
        headers = {PRODUCER: producer.encode(), SEQUENCE: str(number).encode()}
        client.produce(topic, b"x", headers=headers, **more)
    assert client.flush(30) == 0


def test_planted_losses_and_duplicates_are_found_exactly(
    node: Node, new_topic: Callable[..., str], run: Run, lake: Lake
) -> None:
    topic = new_topic()
    lost = {5, 6, 7, 40, 98}
    early, late = 1_700_000_100_000, 1_700_000_700_000
    numbers = [number for number in range(100) if number not in lost]
    send(node, topic, "a", [each for each in numbers if each < 50], timestamp=early)
    send(node, topic, "a", [each for each in numbers if each >= 50], timestamp=late)
    send(node, topic, "a", [10, 10, 60], timestamp=late)
    send(node, topic, "b", list(range(1_000, 1_020)), timestamp=early)
    unmeant = Producer({"bootstrap.servers": node.kafka})
    unmeant.produce(topic, b"x", headers={PRODUCER: b"c", SEQUENCE: b"one"})
    unmeant.produce(topic, b"x")
    unmeant.flush(30)
    done = run("audit", topics=topic, queues=NO_QUEUE)
    assert (done.facts["losses"], done.facts["duplicates"]) == (5, 3)
    found = {
        (row["producer"], row["first_missing"], row["last_missing"], _seconds(row["bucket"]))
        for row in lake.rows("audit_losses")
    }
    before, after = early // 300_000 * 300, late // 300_000 * 300
    assert found == {("a", 5, 7, before), ("a", 40, 40, before), ("a", 98, 98, after)}
    again = [(row["sequence"], _seconds(row["bucket"])) for row in lake.rows("audit_duplicates")]
    assert sorted(again) == [(10, after), (10, after), (60, after)]
    producers = {row["producer"]: row for row in lake.rows("audit_producers")}
    assert (producers["b"]["missing"], producers["b"]["duplicates"]) == (0, 0)
    assert (producers["c"]["messages"], producers["c"]["unnumbered"]) == (1, 1)
    (row,) = lake.rows("audit_balance")
    assert (row["kind"], row["accepted"], row["there"]) == ("topic", 120, 120)


def _seconds(time: Any) -> int:
    return int(time.timestamp())


@pytest.fixture
def queue(node: Node) -> sqs.Queue:
    return sqs.Queue.create(sqs.client(node.sqs), VisibilityTimeout=600)


def test_a_queues_messages_are_all_accounted_for(node: Node, run: Run, lake: Lake) -> None:
    client = sqs.client(node.sqs)
    dead = sqs.Queue.create(client)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1}
    work = sqs.Queue.create(client, RedrivePolicy=policy, VisibilityTimeout=600)
    for number in range(20):
        attributes = {
            PRODUCER: {"DataType": "String", "StringValue": "p"},
            SEQUENCE: {"DataType": "Number", "StringValue": str(number)},
        }
        if number != 7:
            work.send(f"body {number}", MessageAttributes=attributes)
    for _ in range(8):
        work.delete(work.receive_one())
    work.hide(work.receive_one(), 0)
    sqs.eventually(lambda: dead.counts()[0] == 1)
    work.receive_one()
    done = run("audit", queues=f"{work.name},{dead.name}", topics=f"{work.name},{dead.name}")
    rows = {row["name"]: row for row in lake.rows("audit_balance")}
    told = ("accepted", "delivered", "deleted", "dead_lettered", "there", "unaccounted")
    assert [rows[work.name][name] for name in told] == [19, 10, 8, 1, 10, 0]
    assert [rows[dead.name][name] for name in told] == [1, 0, 0, 0, 1, 0]
    assert rows[work.name]["since_ms"] is None
    # The message that was moved is no gap in what its producer sent to the other queue.
    assert (done.facts["losses"], done.facts["duplicates"]) == (1, 0)
    taken = {(row["until"], row["messages"]) for row in lake.rows("audit_latency")}
    assert taken == {("receive", 10), ("delete", 8)}
    assert all(0 <= row["p50_ms"] <= row["max_ms"] < 60_000 for row in lake.rows("audit_latency"))
    (section,) = pipeline("audit").sections(lake)
    assert section.tables[0].title == "Fates of messages"


def test_purged_and_expired_messages_are_told_apart_from_lost_ones(
    admin: AdminClient, queue: sqs.Queue, run: Run, lake: Lake
) -> None:
    queue.send_all(["a", "b", "c"])
    queue.sqs.purge_queue(QueueUrl=queue.url)
    queue.send_all(["d", "e", "f"])
    for future in admin.delete_records([TopicPartition(queue.name, 0, 5)]).values():
        future.result()
    assert queue.bodies() == ["f"]
    run("audit", queues=queue.name, topics=queue.name)
    (row,) = lake.rows("audit_balance")
    told = ("accepted", "purged", "removed", "expired", "there", "unaccounted")
    assert [row[name] for name in told] == [6, 3, 2, 0, 1, 0]


def test_what_was_removed_from_the_log_is_no_loss(
    node: Node, admin: AdminClient, new_topic: Callable[..., str], run: Run, lake: Lake
) -> None:
    topic = new_topic()
    for partition in range(2):
        send(node, topic, "a", list(range(partition, 20, 2)), partition=partition, timestamp=1_000)
    send(node, topic, "a", [20, 21, 22], partition=0, timestamp=2_000)
    for future in admin.delete_records([TopicPartition(topic, 0, 6)]).values():
        future.result()
    assert run("audit", topics=topic, queues=NO_QUEUE).facts["losses"] == 0
    send(node, topic, "a", [23, 25], partition=1, timestamp=3_000)
    assert run("audit", topics=topic, queues=NO_QUEUE).facts["losses"] == 1
    (row,) = lake.rows("audit_losses")
    assert (row["first_missing"], row["last_missing"]) == (24, 24)


def test_a_queue_that_is_not_there_is_named(run: Run) -> None:
    with pytest.raises(Missing, match="There is no queue 'no-such-queue'"):
        run("audit", queues="no-such-queue")
