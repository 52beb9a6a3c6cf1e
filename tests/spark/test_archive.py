"""What is archived stays, once, whatever becomes of the brokers, the driver and the topic."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from tests.harness import sqs
from tests.harness.node import Node
from tests.spark.conftest import Produce, Run
from tests.spark.test_sink import crash_at, values

from duolog_pipelines.archive.replaying import Replaying, Request
from duolog_pipelines.archive.table import ARCHIVE, archive_table
from duolog_pipelines.delta import SparkTable
from duolog_pipelines.errors import InvalidInput, Missing, NotAllowed, PipelineError
from duolog_pipelines.lake import Lake
from duolog_pipelines.upkeep import SMALL_FILES_MIN
from pyspark_duolog.sink.delivery import deliver
from pyspark_duolog.sink.staging import stage
from pyspark_duolog.sink.writers import ONLY_BATCH

RECORDS = 200
BATCH_SECONDS = 1.5
"""The kill comes somewhere within a micro-batch, or a few."""
DRIVER_SECONDS_MAX = 120.0


@pytest.fixture
def table(lake: Lake) -> SparkTable:
    return archive_table(lake.table(ARCHIVE))


def archived_values(frame: DataFrame) -> Counter[str]:
    return Counter(bytes(row.value).decode() for row in frame.select("value").collect())


def once_each(count: int) -> dict[str, int]:
    return {str(number): 1 for number in range(count)}


def test_each_run_takes_what_is_new_and_history_outlives_retention(
    spark: SparkSession,
    admin: AdminClient,
    topic: str,
    produce: Produce,
    run: Run,
    table: SparkTable,
) -> None:
    produce(topic, 40)
    assert run("archive", topics=topic).rows == 40
    removed = [TopicPartition(topic, partition, 20) for partition in range(2)]
    for future in admin.delete_records(removed).values():
        future.result()
    produce(topic, 20, first=40)
    done = run("archive", topics=topic)
    assert done.rows == 20
    assert done.offsets == {topic: {0: 30, 1: 30}}
    assert run("archive", topics=topic).rows == 0
    frame = table.frame(spark)
    assert archived_values(frame) == once_each(60)
    places = {(row.topic, row.partition, row.offset) for row in frame.collect()}
    assert places == {(topic, part, offset) for part in range(2) for offset in range(30)}
    (topic_id,) = {row.topic_id for row in frame.select("topic_id").collect()}
    assert len(topic_id) == 36


def test_messages_of_a_queue_are_archived_after_they_were_deleted(
    spark: SparkSession, node: Node, run: Run, table: SparkTable
) -> None:
    queue = sqs.Queue.create(sqs.client(node.sqs), duolog_RetainDeleted=3_600)
    queue.send_all([str(number) for number in range(10)])
    queue.drain(10)
    assert run("archive", topics=queue.name).rows == 10
    assert archived_values(table.frame(spark)) == once_each(10)


@pytest.mark.parametrize("point", ["staged", "committed"])
def test_a_driver_that_died_at_a_commit_leaves_each_record_once(
    spark: SparkSession,
    topic: str,
    produce: Produce,
    run: Run,
    table: SparkTable,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
) -> None:
    produce(topic, 30)
    commit = SparkTable.commit

    def dying(self: SparkTable, *given: Any, **named: Any) -> bool:
        if point == "committed":
            commit(self, *given, **named)
        raise RuntimeError("killed here")

    with monkeypatch.context() as patch:
        patch.setattr(SparkTable, "commit", dying)
        with pytest.raises(PipelineError):
            run("archive", topics=topic)
    produce(topic, 10, first=30)
    run("archive", topics=topic)
    assert archived_values(table.frame(spark)) == once_each(40)


def test_a_driver_killed_between_its_batches_leaves_each_record_once(
    spark: SparkSession,
    node: Node,
    topic: str,
    produce: Produce,
    run: Run,
    lake: Lake,
    table: SparkTable,
) -> None:
    produce(topic, RECORDS, batch=20)
    command = [sys.executable, "-m", "duolog", "pipeline", "run", "archive", "--once"]
    command += ["--data", str(lake.root.parent), "--kafka", node.kafka, "--admin", node.admin]
    command += ["-O", f"topics={topic}", "-O", f"batch_offsets={RECORDS // 20}"]
    # In a process group of its own, with the JVM and the Python workers that it starts.
    driver = subprocess.Popen([*command, "--master", "local[2]"], start_new_session=True)
    try:
        deadline = time.monotonic() + DRIVER_SECONDS_MAX
        while not table.statistics() and time.monotonic() < deadline:
            assert driver.poll() is None, "the driver ended by itself"
            time.sleep(0.1)
        time.sleep(random.uniform(0, BATCH_SECONDS))
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    run("archive", topics=topic)
    assert archived_values(table.frame(spark)) == once_each(RECORDS)


def test_records_that_are_gone_are_an_error_or_written_down(
    spark: SparkSession,
    admin: AdminClient,
    topic: str,
    produce: Produce,
    run: Run,
    lake: Lake,
) -> None:
    produce(topic, 10)
    run("archive", topics=topic)
    produce(topic, 10, first=10)
    for future in admin.delete_records([TopicPartition(topic, 0, 8)]).values():
        future.result()
    with pytest.raises(PipelineError, match="at offset 5 was removed before"):
        run("archive", topics=topic)
    done = run("archive", topics=topic, allow_gaps="true")
    assert (done.rows, done.facts["gaps"]) == (7, 1)
    (gap,) = lake.rows("archive_gaps")
    assert (gap["partition"], gap["first_offset"], gap["next_offset"]) == (0, 5, 8)


def test_many_small_files_become_one(
    spark: SparkSession,
    new_topic: Callable[..., str],
    produce: Produce,
    run: Run,
    table: SparkTable,
) -> None:
    topic = new_topic(partitions=1)
    produce(topic, SMALL_FILES_MIN, partitions=1, batch=1)
    done = run("archive", topics=topic, batch_offsets="1")
    assert done.facts["files_compacted"] == SMALL_FILES_MIN
    assert len(table.statistics()) == 1
    assert archived_values(table.frame(spark)) == once_each(SMALL_FILES_MIN)


def test_an_archive_without_its_checkpoint_is_not_gone_on_with(
    topic: str, produce: Produce, run: Run, lake: Lake
) -> None:
    produce(topic, 4)
    run("archive", topics=topic)
    lake.checkpoint(ARCHIVE).rename(lake.root / "elsewhere")
    with pytest.raises(NotAllowed, match="which says which, is gone"):
        run("archive", topics=topic)


def in_order(node: Node, spark: SparkSession, topic: str) -> dict[int, list[int]]:
    reader = spark.read.format("duolog").option("kafka.bootstrap.servers", node.kafka)
    rows = reader.option("subscribe", topic).load().orderBy("offset").collect()
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row.partition, []).append(int(row.value))
    return found


def test_a_replay_is_in_order_and_run_twice_writes_once(
    spark: SparkSession, node: Node, new_topic: Callable[..., str], produce: Produce, run: Run
) -> None:
    source, target = new_topic(), new_topic()
    produce(source, 60, batch=7)
    run("archive", topics=source)
    wanted = {"id": "again", "topic": source, "to": target, "range": "5:25"}
    assert run("replay", **wanted).facts == {"replayed": 40, "was_done_before": False}
    assert run("replay", **wanted).facts == {"replayed": 40, "was_done_before": True}
    assert in_order(node, spark, target) == {
        part: [2 * offset + part for offset in range(5, 25)] for part in range(2)
    }
    with pytest.raises(InvalidInput, match="Give another id"):
        run("replay", **{**wanted, "range": "5:26"})


def test_a_replay_that_died_halfway_goes_on_where_it_was(
    node: Node, topic: str, run: Run, lake: Lake
) -> None:
    sink = {"kafka.bootstrap.servers": node.kafka, "topic": topic}
    sink["stagingDirectory"] = str(lake.exports("replay"))
    replaying = Replaying("halfway", sink)
    replaying.begin(Request("archived", topic, "start:end", None))
    batches = [pa.RecordBatch.from_pydict({"value": [str(number)]}) for number in range(8)]
    with crash_at(3, after=True):
        staged = stage(replaying.options, "halfway", 0, iter(batches))
        deliver(replaying.options, ONLY_BATCH, [staged])
    # What is fixed already is sent, whatever is in the archive by now.
    assert run("replay", id="halfway", topic="archived", to=topic).rows == 8
    assert values(node, topic) == once_each(8)


def test_a_replay_to_a_queue_by_time_is_received(
    node: Node, new_topic: Callable[..., str], run: Run
) -> None:
    source = new_topic(partitions=1)
    producer = Producer({"bootstrap.servers": node.kafka})
    times = {"old": 1_700_000_000_000, "meant": 1_700_000_060_000, "young": 1_700_000_120_000}
    for value, timestamp in times.items():
        producer.produce(source, value, timestamp=timestamp, headers={"colour": b"red"})
    producer.flush(30)
    run("archive", topics=source)
    queue = sqs.Queue.create(sqs.client(node.sqs))
    wanted = {"topic": source, "range": "@1700000060000:@1700000120000"}
    run("replay", id="by-time", to=queue.name, **wanted)
    message = queue.receive_one()
    assert message["Body"] == "meant"
    assert message["MessageAttributes"]["colour"]["StringValue"] == "red"
    assert queue.receive() == []
    target = new_topic(retention_ms="3600000")
    with pytest.raises(NotAllowed, match="would remove records of that age"):
        run("replay", id="too-old", to=target, **wanted)
    with pytest.raises(Missing, match="no topic or queue 'no-such-topic' to write to"):
        run("replay", id="nowhere", to="no-such-topic", **wanted)
    with pytest.raises(Missing, match="nothing of 'no-such-topic'"):
        run("replay", id="nothing", to=target, topic="no-such-topic")
