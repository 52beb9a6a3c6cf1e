"""What a task goes through while it reads a range; no session is needed for that."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.harness.node import Node
from tests.spark.conftest import Produce

from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.columns import full_schema
from pyspark_duolog.errors import BrokerAway, DataLost
from pyspark_duolog.source.brokers import Brokers
from pyspark_duolog.source.options import SourceOptions, read_options
from pyspark_duolog.source.planning import Range
from pyspark_duolog.source.reading import RangeReader

SMALL_FETCH = "500"
"""A batch of a few records, so that a range takes many fetches."""


@pytest.fixture
def own_node(tmp_path: Path) -> Iterator[Node]:
    """To be hurt by one test only."""
    with Node(tmp_path / "node") as node:
        yield node


def options_of(node: Node, topic: str, **given: str) -> SourceOptions:
    return read_options(
        {"kafka.bootstrap.servers": node.kafka, "subscribe": topic, "fetchBytesMax": SMALL_FETCH}
        | given
    )


def range_of(options: SourceOptions, topic: str) -> Range:
    """All of partition 0."""
    state = Brokers(options).see()[topic]
    return Range(topic, state.id, 0, *state.partitions[0])


def reading(options: SourceOptions, wanted: Range) -> Iterator[int]:
    """The offsets, as they come."""
    for batch in RangeReader(options, wanted, arrow_schema(full_schema(True))).read():
        yield from batch["offset"].to_pylist()


@pytest.fixture
def many(topic: str, produce: Produce) -> str:
    """A topic with thirty batches of ten records."""
    produce(topic, 300, partitions=1, batch=10)
    return topic


def test_a_task_reads_on_where_it_was_when_the_broker_was_killed(
    own_node: Node,
) -> None:
    producer = Producer({"bootstrap.servers": own_node.kafka, "batch.num.messages": 10})
    for number in range(300):
        producer.produce("orders", str(number), partition=0)
    assert producer.flush(20) == 0
    options = options_of(own_node, "orders")
    offsets = reading(options, range_of(options, "orders"))
    read = [next(offsets)]
    own_node.kill()
    own_node.start()
    read += offsets
    assert read == list(range(300))


def test_a_broker_that_stays_away_ends_the_task(own_node: Node) -> None:
    options = options_of(own_node, "orders", brokerTimeoutMs="300")
    own_node.kill()
    wanted = Range("orders", "00000000-0000-0000-0000-000000000005", 0, 3, 9)
    with pytest.raises(BrokerAway, match="cannot be connected to"):
        list(reading(options, wanted))
    own_node.start()


def test_a_topic_made_anew_is_not_read_in_place_of_the_one_that_was_meant(
    node: Node,
    many: str,
    admin: AdminClient,
    new_topic: Callable[..., str],
    produce: Produce,
) -> None:
    options = options_of(node, many)
    wanted = range_of(options, many)
    offsets = reading(options, wanted)
    next(offsets)
    admin.delete_topics([many])[many].result()
    new_topic(name=many)
    produce(many, 400, partitions=1)
    said = f"partition 0 of topic '{many}' at offset .* is gone"
    with pytest.raises(DataLost, match=said):
        list(offsets)
    lenient = options_of(node, many, failOnDataLoss="false")
    assert list(reading(lenient, wanted)) == []


def test_records_that_are_removed_meanwhile_are_missed_by_name(
    node: Node, many: str, admin: AdminClient
) -> None:
    options = options_of(node, many)
    wanted = range_of(options, many)
    for future in admin.delete_records([TopicPartition(many, 0, 205)]).values():
        future.result()
    said = f"partition 0 of topic '{many}' at offset 0 is not there: .* offsets 205 to 300"
    with pytest.raises(DataLost, match=said):
        list(reading(options, wanted))
    lenient = options_of(node, many, failOnDataLoss="false")
    assert list(reading(lenient, wanted)) == list(range(205, 300))


def test_a_range_beyond_the_end_is_not_waited_for_in_vain(node: Node, many: str) -> None:
    wanted = range_of(options_of(node, many), many)._replace(first_offset=290, end_offset=302)
    options = options_of(node, many, brokerTimeoutMs="2000")
    with pytest.raises(BrokerAway, match="at offset 300 should be there"):
        list(reading(options, wanted))


def test_a_range_may_begin_and_end_inside_of_batches(node: Node, many: str) -> None:
    options = options_of(node, many)
    wanted = range_of(options, many)._replace(first_offset=13, end_offset=37)
    assert list(reading(options, wanted)) == list(range(13, 37))
