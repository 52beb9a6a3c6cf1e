"""Administration with kafka-python's admin client."""

import time
from collections.abc import Iterator

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic, OffsetSpec
from kafka.errors import (
    InvalidConfigurationError,
    NoError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata
from tests.harness.node import Node


@pytest.fixture(scope="module")
def python_admin(node: Node) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=node.kafka)
    yield client
    client.close()


def write(address: str, topic: str, count: int) -> None:
    producer = KafkaProducer(bootstrap_servers=address)
    for each in range(count):
        producer.send(topic, b"%d" % each, partition=0).get(10)
    producer.close()


def configs_of(client: KafkaAdminClient, topic: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    described = client.describe_configs([resource], config_filter="all")["topic"][topic]
    return {name: entry["value"] for name, entry in described.items()}


def test_topics_are_created_described_grown_and_deleted(
    python_admin: KafkaAdminClient, topic: str
) -> None:
    python_admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "9000"})])
    (described,) = python_admin.describe_topics([topic])
    assert len(described["partitions"]) == 2
    assert configs_of(python_admin, topic)["retention.ms"] == "9000"
    with pytest.raises(TopicAlreadyExistsError):
        python_admin.create_topics([NewTopic(topic, 1, 1)])

    python_admin.create_partitions({topic: 5})
    (described,) = python_admin.describe_topics([topic])
    assert len(described["partitions"]) == 5

    python_admin.delete_topics([topic])
    assert topic not in python_admin.list_topics()
    with pytest.raises(UnknownTopicOrPartitionError):
        python_admin.delete_topics([topic])


def test_a_wrong_config_is_refused(python_admin: KafkaAdminClient, topic: str) -> None:
    with pytest.raises(InvalidConfigurationError):
        python_admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "x"})])


@pytest.mark.parametrize("incremental", [True, False])
def test_configs_are_changed(python_admin: KafkaAdminClient, topic: str, incremental: bool) -> None:
    python_admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"segment.ms": "60000"})])
    change = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "1234"})
    result = python_admin.alter_configs([change], incremental=incremental)
    assert result["topic"][topic] == "OK"
    configs = configs_of(python_admin, topic)
    assert (configs["retention.ms"], configs["segment.ms"]) == ("1234", "60000")


def test_the_cluster_is_described(python_admin: KafkaAdminClient, addresses: list[str]) -> None:
    cluster = python_admin.describe_cluster()
    assert cluster["cluster_id"]
    assert sorted(f"{each['host']}:{each['port']}" for each in cluster["brokers"]) == addresses


def test_log_directories_are_described(
    address: str, python_admin: KafkaAdminClient, topic: str
) -> None:
    python_admin.create_topics([NewTopic(topic, 1, 1)])
    write(address, topic, 3)
    assert topic in str(python_admin.describe_log_dirs())


def test_topics_are_described_by_partition(python_admin: KafkaAdminClient, topic: str) -> None:
    python_admin.create_topics([NewTopic(topic, 3, 1)])
    described = python_admin.describe_topic_partitions([topic])
    assert topic in str(described)


def test_offsets_are_listed_and_records_deleted(
    address: str, python_admin: KafkaAdminClient, topic: str
) -> None:
    before_ms = int(time.time() * 1000)
    python_admin.create_topics([NewTopic(topic, 1, 1)])
    write(address, topic, 10)
    partition = TopicPartition(topic, 0)

    def offset(spec: object) -> int:
        found: int = python_admin.list_partition_offsets({partition: spec})[partition].offset
        return found

    assert offset(OffsetSpec.EARLIEST) == 0
    assert offset(OffsetSpec.LATEST) == 10
    assert offset(before_ms) == 0
    assert offset(OffsetSpec.MAX_TIMESTAMP) >= 0
    deleted = python_admin.delete_records({partition: 4})
    assert deleted[partition]["low_watermark"] == 4
    assert offset(OffsetSpec.EARLIEST) == 4


def test_groups_and_their_offsets_are_managed(
    address: str, python_admin: KafkaAdminClient, topic: str, group: str
) -> None:
    python_admin.create_topics([NewTopic(topic, 1, 1)])
    write(address, topic, 10)
    partition = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=group)
    consumer.assign([partition])
    consumer.commit({partition: OffsetAndMetadata(7, "note", -1)})
    consumer.close()

    assert group in {each["group_id"] for each in python_admin.list_groups()}
    assert python_admin.describe_groups([group])[group]["group_state"] == "Empty"
    committed = python_admin.list_group_offsets([group])[group][partition]
    assert (committed.offset, committed.metadata) == (7, "note")

    change = {partition: OffsetAndMetadata(2, "", -1)}
    assert python_admin.alter_group_offsets(group, change)[partition] is NoError
    assert python_admin.list_group_offsets([group])[group][partition].offset == 2
    python_admin.reset_group_offsets(group, {partition: OffsetSpec.LATEST})
    assert python_admin.list_group_offsets([group])[group][partition].offset == 10

    assert python_admin.delete_group_offsets(group, [partition])[partition] is NoError
    assert partition not in python_admin.list_group_offsets([group])[group]
    python_admin.alter_group_offsets(group, change)
    assert python_admin.delete_groups([group]) == {group: "OK"}
    assert group not in {each["group_id"] for each in python_admin.list_groups()}
