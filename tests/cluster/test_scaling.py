"""A cluster grows, shrinks and is moved about while it is used."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import (
    Consumer,
    ElectionType,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import NewPartitions
from kafka import TopicPartition as PythonTopicPartition
from kafka.admin import KafkaAdminClient
from tests.harness.cluster import Cluster
from tests.harness.load import NumberedLoad
from tests.harness.numbered import check_numbered_through
from tests.harness.sqs_line import SqsLine

TOPIC = "numbers"
PARTITIONS = 6
OUTAGE_SECONDS_MAX = 20.0
SETTLE_SECONDS_MAX = 120.0
ASK_SECONDS_MAX = 30.0
TRY_SECONDS_MAX = 5.0
FETCHED_BYTES = "duolog_partition_bytes_out_total"

Copies = dict[int, tuple[int, list[int], list[int]]]
"""Per partition its leader, its replicas in order, and those in sync."""


def copies(cluster: Cluster, topic: str = TOPIC, seconds_max: float = ASK_SECONDS_MAX) -> Copies:
    admin = cluster.admin()
    asked = admin.describe_topics(TopicCollection([topic]), request_timeout=seconds_max)
    return {
        each.id: (
            -1 if each.leader is None else each.leader.id,
            [node.id for node in each.replicas],
            [node.id for node in each.isr],
        )
        for each in asked[topic].result().partitions
    }


def until_copies(cluster: Cluster, are_so: Callable[[Copies], bool], topic: str = TOPIC) -> Copies:
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    found: Copies = {}
    while time.monotonic() < deadline:
        try:
            found = copies(cluster, topic, TRY_SECONDS_MAX)
        except KafkaException:
            # A client that was told of a controller which is dead by now waits for it in vain.
            continue
        if are_so(found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"the copies are still {found}")


@contextmanager
def numbered_load(cluster: Cluster, topic: str = TOPIC) -> Iterator[NumberedLoad]:
    """Under load from beginning to end, and all of it is there in the end."""
    with NumberedLoad(cluster.bootstrap, topic, PARTITIONS) as load:
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=100)
        yield load
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=100)
        load.finish()
    check_numbered_through(cluster.bootstrap, topic, load.acknowledged)


def test_a_fourth_node_gets_partitions_and_a_drained_one_gives_its_own_up(
    cluster: Cluster,
) -> None:
    cluster.create_topic(TOPIC, PARTITIONS)
    with numbered_load(cluster) as load:
        cluster.add_node(4)
        cluster.until_settled()
        cluster.create_topic("later", 8)
        assert any(4 in replicas for _, replicas, _ in copies(cluster, "later").values())

        cluster.drain(1)
        until_copies(cluster, lambda found: all(leader != 1 for leader, *_ in found.values()))
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=100)
        found = until_copies(
            cluster,
            lambda found: all(
                1 not in replicas and len(in_sync) == 3 for _, replicas, in_sync in found.values()
            ),
        )
        assert all(4 in replicas for _, replicas, _ in found.values())
        until_copies(
            cluster,
            lambda found: all(1 not in replicas for _, replicas, _ in found.values()),
            "later",
        )
        cluster.nodes[1].stop()


def test_producers_learn_of_partitions_that_were_added(cluster: Cluster) -> None:
    cluster.create_topic(TOPIC, PARTITIONS)
    with numbered_load(cluster):
        admin = cluster.admin()
        admin.create_partitions([NewPartitions(TOPIC, PARTITIONS + 3)])[TOPIC].result(20)
        found = until_copies(cluster, lambda found: len(found) == PARTITIONS + 3)
        assert all(len(replicas) == 3 for _, replicas, _ in found.values())


def test_partitions_are_reassigned_by_a_real_client_under_load(cluster: Cluster) -> None:
    cluster.create_topic(TOPIC, PARTITIONS)
    cluster.add_node(4)
    with numbered_load(cluster) as load:
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=1_000)
        client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
        wanted = {
            PythonTopicPartition(TOPIC, 0): [4, 2, 3],
            PythonTopicPartition(TOPIC, 1): [4, 1],
            PythonTopicPartition(TOPIC, 2): [2, 4, 1],
        }
        answered = client.alter_partition_reassignments(wanted)
        assert answered == dict.fromkeys(wanted)
        unknown = PythonTopicPartition(TOPIC, 3)
        assert client.alter_partition_reassignments({unknown: [1, 9, 2]})[unknown] is not None
        until_copies(
            cluster,
            lambda found: all(
                found[place.partition][1] == replicas
                and sorted(found[place.partition][2]) == sorted(replicas)
                for place, replicas in wanted.items()
            ),
        )
        assert client.list_partition_reassignments() == {}
        client.close()


def test_the_preferred_leader_leads_when_it_is_asked_for(tmp_path: Path) -> None:
    never_by_itself = {"leader.imbalance.check.interval.ms": 3_600_000}
    with Cluster(tmp_path, settings=never_by_itself) as cluster:
        cluster.until_settled()
        cluster.create_topic(TOPIC, PARTITIONS)
        with numbered_load(cluster):
            cluster.nodes[2].kill()
            until_copies(cluster, lambda found: all(leader != 2 for leader, *_ in found.values()))
            cluster.nodes[2].restart()
            cluster.until_settled()
            moved = [
                TopicPartition(TOPIC, partition)
                for partition, (leader, replicas, _) in copies(cluster).items()
                if leader != replicas[0]
            ]
            assert moved, "node 2 was to lead something"
            admin = cluster.admin()
            outcomes = admin.elect_leaders(ElectionType.PREFERRED, moved).result(20)
            assert all(error is None for error in outcomes.values()), outcomes
            until_copies(
                cluster,
                lambda found: all(leader == replicas[0] for leader, replicas, _ in found.values()),
            )


def test_a_consumer_reads_from_the_copy_in_its_own_rack(tmp_path: Path) -> None:
    racks = {number: {"node.rack": f"rack-{number}"} for number in (1, 2, 3)}
    with Cluster(tmp_path, node_settings=racks) as cluster:
        cluster.until_settled()
        cluster.create_topic(TOPIC, 1)
        with NumberedLoad(cluster.bootstrap, TOPIC, 1) as load:
            load.wait_for_progress(OUTAGE_SECONDS_MAX, records=2_000)
            load.finish()
        leader = copies(cluster)[0][0]
        follower = next(number for number in cluster.nodes if number != leader)
        fetched = {number: node.metric(FETCHED_BYTES) for number, node in cluster.nodes.items()}
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "near",
                "client.rack": f"rack-{follower}",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        records = []
        while len(records) < load.total:
            wanted = min(500, load.total - len(records))
            records += consumer.consume(wanted, timeout=OUTAGE_SECONDS_MAX)
        consumer.close()
        assert [record.offset() for record in records] == list(range(load.total))
        near = cluster.nodes[follower].metric(FETCHED_BYTES) - fetched[follower]
        far = cluster.nodes[leader].metric(FETCHED_BYTES) - fetched[leader]
        assert near > sum(len(record.value() or b"") for record in records) / 2
        assert far < near / 10, "the leader sent it to the copy in its rack"


@pytest.mark.parametrize("clean", [True, False])
def test_another_node_becomes_the_controller(cluster: Cluster, clean: bool) -> None:
    cluster.create_topic(TOPIC, PARTITIONS)
    with numbered_load(cluster):
        told = cluster.until(lambda told: told["controller"] is not None, "a controller")
        before, epoch = told["controller"], told["controller_epoch"]
        if clean:
            cluster.nodes[before].stop()
        else:
            cluster.nodes[before].kill()
        told = cluster.until(
            lambda told: told["controller"] not in (None, before), "another controller"
        )
        assert told["controller_epoch"] > epoch
        cluster.until(lambda told: not told["partitions"]["leaderless"], "everything led")
        cluster.create_topic("later", PARTITIONS, copies=2)
        cluster.nodes[before].start()
        cluster.until_settled()


def test_roles_can_be_split(tmp_path: Path) -> None:
    roles = {1: "broker,controller", 2: "broker", 3: "frontend"}
    settings = {number: {"node.roles": each} for number, each in roles.items()}
    with Cluster(tmp_path, node_settings=settings) as cluster:
        cluster.until_settled()
        assert [cluster.nodes[number].sqs for number in (1, 2)] == ["", ""]
        with SqsLine(cluster.nodes[3].sqs) as wire:
            url = wire.call("CreateQueue", QueueName="orders")["QueueUrl"]
            wire.call("SendMessage", QueueUrl=url, MessageBody="hello")
            answer = wire.call("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=5)
        assert [message["Body"] for message in answer["Messages"]] == ["hello"]
        holding = {node["id"]: node["copies"] for node in cluster.described()["nodes"]}
        assert holding[3] == 0 < min(holding[1], holding[2])


def receive_all(wire: SqsLine, url: str, count: int) -> list[str]:
    """So many messages, deleted; not more, and in SETTLE_SECONDS_MAX."""
    found: list[str] = []
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while len(found) < count and time.monotonic() < deadline:
        answer = wire.call(
            "ReceiveMessage", QueueUrl=url, WaitTimeSeconds=1, MaxNumberOfMessages=10
        )
        for message in answer.get("Messages", []):
            found.append(message["Body"])
            wire.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return sorted(found)


def test_what_a_lone_first_node_made_gets_its_copies_when_others_come(tmp_path: Path) -> None:
    with Cluster(tmp_path, nodes=1) as cluster:
        with SqsLine(cluster.nodes[1].sqs) as wire:
            url = wire.call("CreateQueue", QueueName="orders")["QueueUrl"]
            for number in range(20):
                wire.call("SendMessage", QueueUrl=url, MessageBody=f"{number:02}")
            wire.call("ReceiveMessage", QueueUrl=url, VisibilityTimeout=0)
        assert copies(cluster, "orders")[0][1] == [1]
        cluster.add_node(2)
        cluster.add_node(3)
        until_copies(cluster, lambda found: len(found[0][2]) == 3, "orders")
        until_copies(cluster, lambda found: len(found[0][2]) == 3, "__queue.orders")
        cluster.until_settled()
        cluster.nodes[1].kill()
        with SqsLine(cluster.nodes[2].sqs) as wire:
            assert receive_all(wire, url, 20) == [f"{number:02}" for number in range(20)]


def test_messages_of_partitions_that_a_queue_got_later_are_received(cluster: Cluster) -> None:
    with SqsLine(cluster.nodes[1].sqs) as wire:
        url = wire.call("CreateQueue", QueueName="orders")["QueueUrl"]
        wire.call("SendMessage", QueueUrl=url, MessageBody="00")
        wire.call("ReceiveMessage", QueueUrl=url, VisibilityTimeout=0)
        count = len(copies(cluster, "orders"))
        admin = cluster.admin()
        admin.create_partitions([NewPartitions("orders", count + 5)])["orders"].result(20)
        for number in range(1, 10):
            wire.call("SendMessage", QueueUrl=url, MessageBody=f"{number:02}")
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for index in range(count + 5):
        producer.produce("orders", f"{10 + index}", partition=index)
    assert producer.flush(30) == 0
    wanted = [f"{number:02}" for number in range(15 + count)]
    with SqsLine(cluster.nodes[2].sqs) as wire:
        assert receive_all(wire, url, len(wanted)) == wanted
    until_copies(cluster, lambda found: len(found) == count + 5, "__queue.orders")


def test_an_idle_queue_uses_fewer_partitions_and_loses_nothing(tmp_path: Path) -> None:
    settings = {
        "leader.imbalance.check.interval.ms": 100,
        "queue.partitions": 4,
        "topic.autoscale.max.partitions": 8,
    }
    with Cluster(tmp_path, settings=settings) as cluster:
        with SqsLine(cluster.nodes[1].sqs) as wire:
            url = wire.call("CreateQueue", QueueName="orders")["QueueUrl"]
            for number in range(12):
                wire.call("SendMessage", QueueUrl=url, MessageBody=f"{number:02}")
            wire.call("ReceiveMessage", QueueUrl=url, VisibilityTimeout=0)
            until_events(cluster, "partitions closed", 2)
            for number in range(12, 24):
                wire.call("SendMessage", QueueUrl=url, MessageBody=f"{number:02}")
        with SqsLine(cluster.nodes[3].sqs) as wire:
            assert receive_all(wire, url, 24) == [f"{number:02}" for number in range(24)]
            assert len(copies(cluster, "orders")) == 4
            producer = Producer({"bootstrap.servers": cluster.bootstrap})
            for index in range(4):
                producer.produce("orders", f"{index}", partition=index)
            assert producer.flush(30) == 0
            assert receive_all(wire, url, 4) == ["0", "1", "2", "3"]


def until_events(cluster: Cluster, kind: str, count: int) -> None:
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while time.monotonic() < deadline:
        events = json.loads(cluster.running[0].asked("/cluster/events?limit=1000"))["events"]
        if sum(event["kind"] == kind for event in events) >= count:
            return
        time.sleep(0.1)
    raise AssertionError(f"no {kind} in time")
