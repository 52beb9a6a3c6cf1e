"""What `spark.readStream.format("duolog")` gives, batch by batch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamReader, StreamingQuery
from tests.harness.node import Node
from tests.spark.conftest import Produce


class Batches:
    """A sink that keeps what it is given, by batch."""

    def __init__(self) -> None:
        self.by_id: dict[int, list[int]] = {}

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        rows = frame.select("value").collect()
        self.by_id[batch_id] = sorted(int(bytes(row.value)) for row in rows)

    @property
    def sizes(self) -> list[int]:
        return [len(each) for _, each in sorted(self.by_id.items()) if each]

    @property
    def numbers(self) -> list[int]:
        return sorted(number for each in self.by_id.values() for number in each)


Run = Callable[..., StreamingQuery]


@pytest.fixture
def batches() -> Batches:
    return Batches()


@pytest.fixture
def run(batches: Batches, checkpoint: Path) -> Run:
    """Reads all that is there now, and ends."""

    def available(reader: DataStreamReader, at: Path = checkpoint) -> StreamingQuery:
        writer = reader.load().writeStream.foreachBatch(batches)
        query = writer.option("checkpointLocation", str(at)).trigger(availableNow=True).start()
        query.awaitTermination(120)
        return query

    return available


def checkpointed(checkpoint: Path) -> dict[str, Any]:
    """What the query has planned last: the file has a version, the metadata, and the offsets."""
    latest = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    offsets: dict[str, Any] = json.loads(latest.read_text().splitlines()[-1])
    return offsets


def rewrite(checkpoint: Path, offsets: dict[str, Any]) -> None:
    latest = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    lines = latest.read_text().splitlines()
    latest.write_text("\n".join([*lines[:-1], json.dumps(offsets)]))
    (latest.parent / f".{latest.name}.crc").unlink(missing_ok=True)


def test_a_query_goes_on_where_it_stopped(
    stream: DataStreamReader, topic: str, produce: Produce, run: Run, batches: Batches
) -> None:
    reader = stream.option("subscribe", topic)
    produce(topic, 30)
    run(reader)
    assert batches.numbers == list(range(30))
    produce(topic, 20, first=30)
    run(reader)
    assert batches.numbers == list(range(50))
    assert [len(each) for each in batches.by_id.values()] == [30, 20]


def test_a_micro_batch_takes_no_more_offsets_than_it_may(
    stream: DataStreamReader, topic: str, produce: Produce, run: Run, batches: Batches
) -> None:
    produce(topic, 50)
    run(stream.option("subscribe", topic).option("maxOffsetsPerTrigger", "20"))
    assert batches.sizes == [20, 20, 10]
    assert batches.numbers == list(range(50))


def test_a_micro_batch_takes_about_as_many_bytes_as_it_may(
    stream: DataStreamReader, topic: str, produce: Produce, run: Run, batches: Batches
) -> None:
    produce(topic, 60, batch=3)
    run(stream.option("subscribe", topic).option("maxBytesPerTrigger", "900"))
    assert batches.numbers == list(range(60))
    # Ten batches per partition, of three records and 61 + 3 * 9 bytes.
    assert 2 <= len(batches.sizes) <= 4


def test_progress_is_committed_to_a_group_to_the_last_record(
    stream: DataStreamReader, node: Node, topic: str, produce: Produce, run: Run
) -> None:
    produce(topic, 25)
    run(stream.option("subscribe", topic).option("kafka.group.id", "spark-lag"))
    consumer = Consumer({"bootstrap.servers": node.kafka, "group.id": "spark-lag"})
    committed = consumer.committed([TopicPartition(topic, each) for each in (0, 1)], timeout=10)
    assert [each.offset for each in committed] == [13, 12]
    consumer.close()


def test_partitions_and_topics_that_come_later_are_read_from_their_start(
    stream: DataStreamReader,
    admin: AdminClient,
    new_topic: Callable[..., str],
    produce: Produce,
    run: Run,
    batches: Batches,
) -> None:
    reader = stream.option("subscribePattern", "later-.*")
    produce(new_topic(name="later-a"), 10)
    run(reader)
    admin.create_partitions([NewPartitions("later-a", 3)])["later-a"].result()
    produce("later-a", 9, first=10, partitions=3)
    produce(new_topic(name="later-b"), 5, first=19)
    run(reader)
    assert batches.numbers == list(range(24))


def test_a_broker_that_comes_back_is_waited_for(
    stream: DataStreamReader,
    topic: str,
    produce: Produce,
    checkpoint: Path,
    batches: Batches,
    node: Node,
) -> None:
    produce(topic, 10)
    reader = stream.option("subscribe", topic).load()
    writer = reader.writeStream.foreachBatch(batches)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        query.processAllAvailable()
        node.kill()
        node.start()
        produce(topic, 10, first=10)
        query.processAllAvailable()
    finally:
        query.stop()
    assert batches.numbers == list(range(20))


def test_a_topic_that_goes_ends_the_query_and_is_named_also_when_another_has_its_name(
    stream: DataStreamReader,
    admin: AdminClient,
    new_topic: Callable[..., str],
    topic: str,
    produce: Produce,
    run: Run,
    batches: Batches,
) -> None:
    produce(topic, 10)
    query = run(stream.option("subscribe", topic))
    admin.delete_topics([topic])[topic].result()
    with pytest.raises(StreamingQueryException, match=f"topic '{topic}' was deleted"):
        run(stream.option("subscribe", topic))
    new_topic(name=topic)
    produce(topic, 30)
    said = rf"{query.id}(.|\n)*topic '{topic}' was deleted and recreated(.|\n)*0 up to offset 5"
    with pytest.raises(StreamingQueryException, match=said):
        run(stream.option("subscribe", topic))
    assert batches.numbers == list(range(10))
    run(stream.option("subscribe", topic).option("failOnDataLoss", "false"))
    assert batches.numbers == sorted([*range(10), *range(30)])


def test_a_topic_made_anew_under_a_running_query_ends_it(
    stream: DataStreamReader,
    admin: AdminClient,
    new_topic: Callable[..., str],
    topic: str,
    produce: Produce,
    batches: Batches,
) -> None:
    produce(topic, 10)
    query = stream.option("subscribe", topic).load().writeStream.foreachBatch(batches).start()
    try:
        query.processAllAvailable()
        admin.delete_topics([topic])[topic].result()
        new_topic(name=topic)
        produce(topic, 30)
        said = rf"{query.id}(.|\n)*topic '{topic}' was deleted(.|\n)*partition 0 up to offset 5"
        with pytest.raises(StreamingQueryException, match=said):
            query.awaitTermination(60)
    finally:
        query.stop()
    assert batches.numbers == list(range(10))


def test_a_damaged_segment_ends_the_query_and_the_offset_is_named(
    stream: DataStreamReader,
    node: Node,
    new_topic: Callable[..., str],
    produce: Produce,
    run: Run,
) -> None:
    topic = new_topic(partitions=1, segment_bytes="16384")
    produce(topic, 3_000, partitions=1, batch=50)
    segment = node.segments(topic)[1]
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    said = (
        rf"query [0-9a-f-]{{36}}, batch 0: partition 0 of topic '{topic}' at offset (.|\n)*"
        f"the batch at offset {int(segment.stem)} has a wrong checksum"
    )
    with pytest.raises(StreamingQueryException, match=said):
        run(stream.option("subscribe", topic))


def test_records_that_were_removed_unread_end_the_query_and_are_named(
    stream: DataStreamReader,
    admin: AdminClient,
    topic: str,
    produce: Produce,
    run: Run,
    batches: Batches,
) -> None:
    produce(topic, 10)
    run(stream.option("subscribe", topic))
    produce(topic, 20, first=10)
    for future in admin.delete_records([TopicPartition(topic, 1, 12)]).values():
        future.result()
    said = f"partition 1 of topic '{topic}' at offset 5 was removed"
    with pytest.raises(StreamingQueryException, match=said):
        run(stream.option("subscribe", topic))
    run(stream.option("subscribe", topic).option("failOnDataLoss", "false"))
    gone = set(range(11, 24, 2))
    assert batches.numbers == [number for number in range(30) if number not in gone]


def test_a_checkpoint_that_lies_is_found_out(
    stream: DataStreamReader, topic: str, produce: Produce, run: Run, checkpoint: Path
) -> None:
    produce(topic, 10)
    query = run(stream.option("subscribe", topic))
    offsets = checkpointed(checkpoint)
    offsets["topics"][topic]["next"]["0"] = 500
    rewrite(checkpoint, offsets)
    said = rf"{query.id}(.|\n)*partition 0 of topic '{topic}' at offset 500"
    with pytest.raises(StreamingQueryException, match=said):
        run(stream.option("subscribe", topic))
