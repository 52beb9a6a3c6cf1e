"""What one node was told to do is known to all of them when it answers."""

from contextlib import ExitStack

import pytest
from tests.harness.cluster import Cluster
from tests.harness.sqs_line import Refused, SqsLine
from tests.harness.wire import Wire

from duolog.wire.kafka.apis import ApiKey

METADATA_VERSION = 9
ROUNDS = 30


def partitions_of(wire: Wire, topic: str) -> int:
    """Zero where the topic is not known."""
    asked = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    (described,) = wire.call(ApiKey.METADATA, METADATA_VERSION, asked).topics
    return len(described.partitions)


def test_a_topic_that_one_node_has_made_is_there_at_all(cluster: Cluster) -> None:
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(node.kafka)) for node in cluster.nodes.values()]
        for number in range(ROUNDS):
            topic = f"topic-{number}"
            assert wires[number % len(wires)].create_topic(topic, partitions=3) == 0
            assert [partitions_of(wire, topic) for wire in wires] == [3] * len(wires)


def test_a_queue_that_one_node_has_made_or_deleted_is_there_or_gone_at_all(
    cluster: Cluster,
) -> None:
    with ExitStack() as stack:
        wires = [stack.enter_context(SqsLine(node.sqs)) for node in cluster.nodes.values()]
        for number in range(ROUNDS):
            name, at = f"queue-{number}", number % len(wires)
            url = wires[at].call("CreateQueue", QueueName=name)["QueueUrl"]
            for wire in wires:
                wire.call("SendMessage", QueueUrl=url, MessageBody="x")
            wires[at - 1].call("DeleteQueue", QueueUrl=url)
            for wire in wires:
                with pytest.raises(Refused, match="QueueDoesNotExist"):
                    wire.call("GetQueueUrl", QueueName=name)
