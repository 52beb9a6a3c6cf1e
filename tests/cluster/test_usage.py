"""What the nodes of a cluster meter adds up, whoever leads and whoever answers."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.cluster import Cluster
from tests.harness.load import NumberedLoad
from tests.harness.node import Node
from tests.harness.sqs_line import SqsLine
from tests.harness.usage import Line, read_lines, told, total, until_total

PARTITIONS = 6
RECORDS = 300
MESSAGES_PER_NODE = 12


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, settings={"usage.interval.seconds": 1}) as cluster:
        cluster.until_settled()
        yield cluster


def lines_of(cluster: Cluster) -> list[Line]:
    """Asked of each node, because only the leader answers."""
    for node in cluster.running:
        try:
            return read_lines(node.kafka)
        except AssertionError as error:
            if "refused with 6" not in str(error):
                raise
    return []


def test_the_lines_of_all_nodes_add_up(cluster: Cluster) -> None:
    cluster.create_topic("numbers", PARTITIONS)
    with NumberedLoad(cluster.bootstrap, "numbers", PARTITIONS) as load:
        load.wait_for_progress(30, records=RECORDS)
        load.finish()
    with SqsLine(cluster.nodes[1].sqs, None) as line:
        url = line.call("CreateQueue", QueueName="letters")["QueueUrl"]
    deadline = time.monotonic() + 30
    for node in cluster.nodes.values():
        with SqsLine(node.sqs, None) as line:
            while "QueueUrls" not in line.call("ListQueues"):
                assert time.monotonic() < deadline, "a node does not hear of the queue"
            for _ in range(MESSAGES_PER_NODE):
                line.call("SendMessage", QueueUrl=url, MessageBody="hello")

    def read() -> list[Line]:
        return lines_of(cluster)

    until_total(read, "letters", "send", 3 * MESSAGES_PER_NODE)
    lines = until_total(read, "numbers", "produce", load.total)
    sent = [each for each in lines if each["operation"] == "send"]
    assert {each["node"] for each in sent} == {1, 2, 3}, "each counts what it answers"
    produced = [each for each in lines if each["operation"] == "produce"]
    assert len({each["node"] for each in produced}) > 1, "each leader counts"
    assert len({each["journal"] for each in lines}) == 3
    summed = sum(
        row["messages"]
        for node in cluster.nodes.values()
        for row in told(node)["totals"]
        if row["operation"] == "produce"
    )
    assert summed == total(lines, "numbers", "produce")


def send_first(cluster: Cluster) -> tuple[str, Node]:
    """One message, until it is counted; its queue's address, and who leads the topic of usage."""
    with SqsLine(cluster.nodes[1].sqs, None) as line:
        url: str = line.call("CreateQueue", QueueName="letters")["QueueUrl"]
        line.call("SendMessage", QueueUrl=url, MessageBody="hello")
    until_total(lambda: lines_of(cluster), "letters", "send", 1)
    metadata = cluster.admin().list_topics("__usage", timeout=10).topics["__usage"]
    return url, cluster.nodes[metadata.partitions[0].leader]


def test_a_node_that_stops_in_order_has_sent_its_lines(cluster: Cluster) -> None:
    url, leader = send_first(cluster)
    with SqsLine(leader.sqs, None) as line:
        line.call("SendMessage", QueueUrl=url, MessageBody="hello")
    leader.stop()
    assert "have to wait" not in leader.log_text
    until_total(lambda: lines_of(cluster), "letters", "send", 2)


def test_lines_outlive_the_leader_of_their_topic(cluster: Cluster) -> None:
    url, leader = send_first(cluster)
    leader.kill()
    sender = cluster.running[0]
    deadline = time.monotonic() + 30
    sent = 1
    while sent < 6:
        try:
            with SqsLine(sender.sqs, None) as line:
                line.call("SendMessage", QueueUrl=url, MessageBody="hello")
                sent += 1
        except (AssertionError, OSError, ValueError):
            assert time.monotonic() < deadline, "nothing is sent any more"
            time.sleep(0.2)
    until_total(lambda: lines_of(cluster), "letters", "send", sent)
    leader.start()
    cluster.until_settled()
    until_total(lambda: lines_of(cluster), "letters", "send", sent)
