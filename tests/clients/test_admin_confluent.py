"""Administration with librdkafka's admin client."""

import time

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

SECONDS_MAX = 10


def create(admin: AdminClient, topic: str, partitions: int = 1, **config: str) -> None:
    dotted = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, config=dotted)])[topic].result(SECONDS_MAX)


def write(address: str, topic: str, count: int, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": address})
    for each in range(count):
        producer.produce(topic, b"%d" % each, partition=partition)
    assert producer.flush(SECONDS_MAX) == 0


def commit(address: str, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": address, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def configs_of(admin: AdminClient, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    described = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
    return {name: entry.value for name, entry in described.items()}


def error_of(failure: pytest.ExceptionInfo[KafkaException]) -> str:
    name: str = failure.value.args[0].name()
    return name


def test_a_topic_is_created_with_its_partitions_and_configs(admin: AdminClient, topic: str) -> None:
    create(admin, topic, 4, retention_ms="3600000", cleanup_policy="compact")
    metadata = admin.list_topics(topic, timeout=SECONDS_MAX).topics[topic]
    assert metadata.error is None
    assert sorted(metadata.partitions) == [0, 1, 2, 3]
    configs = configs_of(admin, topic)
    assert configs["retention.ms"] == "3600000"
    assert configs["cleanup.policy"] == "compact"
    assert configs["max.message.bytes"] == "1048588"


def test_a_topic_is_not_created_twice(admin: AdminClient, topic: str) -> None:
    create(admin, topic)
    with pytest.raises(KafkaException) as failure:
        create(admin, topic)
    assert error_of(failure) == "TOPIC_ALREADY_EXISTS"


def test_an_unknown_config_is_refused_with_a_reason(admin: AdminClient, topic: str) -> None:
    with pytest.raises(KafkaException) as failure:
        create(admin, topic, retention_msec="1")
    assert error_of(failure) == "INVALID_CONFIG"
    assert "retention.ms" in failure.value.args[0].str()


def test_more_replicas_than_brokers_are_refused(admin: AdminClient, topic: str) -> None:
    with pytest.raises(KafkaException) as failure:
        admin.create_topics([NewTopic(topic, 1, 4)])[topic].result(SECONDS_MAX)
    assert error_of(failure) == "INVALID_REPLICATION_FACTOR"


def test_validate_only_creates_nothing(admin: AdminClient, topic: str) -> None:
    admin.create_topics([NewTopic(topic, 1)], validate_only=True)[topic].result(SECONDS_MAX)
    assert topic not in admin.list_topics(timeout=SECONDS_MAX).topics


def test_configs_are_changed_one_by_one_and_take_their_default_again(
    admin: AdminClient, topic: str
) -> None:
    create(admin, topic, retention_ms="5000", segment_bytes="1048576")

    def alter(value: str | None, operation: AlterConfigOpType) -> None:
        entry = ConfigEntry("retention.ms", value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(SECONDS_MAX)

    alter("7000", AlterConfigOpType.SET)
    assert configs_of(admin, topic)["retention.ms"] == "7000"
    assert configs_of(admin, topic)["segment.bytes"] == "1048576"
    alter(None, AlterConfigOpType.DELETE)
    assert configs_of(admin, topic)["retention.ms"] == str(7 * 24 * 3600 * 1000)


def test_partitions_are_added_and_usable(address: str, admin: AdminClient, topic: str) -> None:
    create(admin, topic, 1)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(SECONDS_MAX)
    assert len(admin.list_topics(topic, timeout=SECONDS_MAX).topics[topic].partitions) == 3
    write(address, topic, 2, partition=2)
    with pytest.raises(KafkaException) as failure:
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(SECONDS_MAX)
    assert error_of(failure) == "INVALID_PARTITIONS"


def test_a_deleted_topic_is_gone_and_a_namesake_is_empty(
    address: str, admin: AdminClient, topic: str
) -> None:
    create(admin, topic)
    write(address, topic, 5)
    admin.delete_topics([topic])[topic].result(SECONDS_MAX)
    assert topic not in admin.list_topics(timeout=SECONDS_MAX).topics
    with pytest.raises(KafkaException) as failure:
        admin.delete_topics([topic])[topic].result(SECONDS_MAX)
    assert error_of(failure) == "UNKNOWN_TOPIC_OR_PART"
    create(admin, topic)
    partition = TopicPartition(topic, 0)
    end = admin.list_offsets({partition: OffsetSpec.latest()})[partition].result(SECONDS_MAX)
    assert end.offset == 0


def test_the_cluster_and_a_topic_are_described(
    addresses: list[str], admin: AdminClient, topic: str
) -> None:
    from confluent_kafka import TopicCollection

    cluster = admin.describe_cluster().result(SECONDS_MAX)
    assert cluster.cluster_id
    assert sorted(f"{each.host}:{each.port}" for each in cluster.nodes) == addresses
    create(admin, topic, 2)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(SECONDS_MAX)
    assert len(described.partitions) == 2
    assert described.partitions[0].leader.id in [each.id for each in cluster.nodes]
    assert not described.is_internal


def test_broker_configs_are_described(admin: AdminClient) -> None:
    broker = next(iter(admin.list_topics(timeout=SECONDS_MAX).brokers))
    resource = ConfigResource(ResourceType.BROKER, str(broker))
    described = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
    assert described["num.partitions"].value == "1"


def test_offsets_are_listed_by_position_and_by_time(
    address: str, admin: AdminClient, topic: str
) -> None:
    create(admin, topic)
    producer = Producer({"bootstrap.servers": address})
    base_ms = int(time.time() * 1000) - 60_000
    for each in range(10):
        producer.produce(topic, b"x", timestamp=base_ms + each * 1000)
        producer.flush(SECONDS_MAX)
    partition = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        found: int = admin.list_offsets({partition: spec})[partition].result(SECONDS_MAX).offset
        return found

    assert offset(OffsetSpec.earliest()) == 0
    assert offset(OffsetSpec.latest()) == 10
    assert offset(OffsetSpec.for_timestamp(base_ms + 3500)) == 4
    assert offset(OffsetSpec.for_timestamp(base_ms + 4000)) == 4
    assert offset(OffsetSpec.for_timestamp(base_ms + 99_000)) == -1
    assert offset(OffsetSpec.max_timestamp()) == 9


def test_deleted_records_move_the_start(address: str, admin: AdminClient, topic: str) -> None:
    create(admin, topic)
    write(address, topic, 10)
    before = TopicPartition(topic, 0, 6)
    deleted = admin.delete_records([before])[before].result(SECONDS_MAX)
    assert deleted.low_watermark == 6
    consumer = Consumer({"bootstrap.servers": address, "group.id": topic})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), SECONDS_MAX) == (6, 10)
    consumer.assign([TopicPartition(topic, 0, 6)])
    record = consumer.poll(SECONDS_MAX)
    assert record is not None
    assert (record.offset(), record.value()) == (6, b"6")
    consumer.close()


def test_groups_are_listed_described_altered_and_deleted(
    address: str, admin: AdminClient, topic: str, group: str
) -> None:
    create(admin, topic)
    write(address, topic, 5)
    commit(address, group, topic, 3)
    listed = admin.list_consumer_groups().result(SECONDS_MAX)
    assert group in {each.group_id for each in listed.valid}
    described = admin.describe_consumer_groups([group])[group].result(SECONDS_MAX)
    assert described.state.name == "EMPTY"

    wanted = ConsumerGroupTopicPartitions(group)
    found = admin.list_consumer_group_offsets([wanted])[group].result(SECONDS_MAX)
    assert [(each.topic, each.offset) for each in found.topic_partitions] == [(topic, 3)]

    change = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 1)])
    admin.alter_consumer_group_offsets([change])[group].result(SECONDS_MAX)
    found = admin.list_consumer_group_offsets([wanted])[group].result(SECONDS_MAX)
    assert [each.offset for each in found.topic_partitions] == [1]

    admin.delete_consumer_groups([group])[group].result(SECONDS_MAX)
    listed = admin.list_consumer_groups().result(SECONDS_MAX)
    assert group not in {each.group_id for each in listed.valid}
    with pytest.raises(KafkaException) as failure:
        admin.delete_consumer_groups([group])[group].result(SECONDS_MAX)
    assert error_of(failure) == "GROUP_ID_NOT_FOUND"


def test_a_group_with_members_is_not_deleted(
    address: str, admin: AdminClient, topic: str, group: str
) -> None:
    create(admin, topic)
    consumer = Consumer({"bootstrap.servers": address, "group.id": group})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    described = admin.describe_consumer_groups([group])[group].result(SECONDS_MAX)
    assert described.state.name == "STABLE"
    (member,) = described.members
    assert [(each.topic, each.partition) for each in member.assignment.topic_partitions] == [
        (topic, 0)
    ]
    with pytest.raises(KafkaException) as failure:
        admin.delete_consumer_groups([group])[group].result(SECONDS_MAX)
    assert error_of(failure) == "NON_EMPTY_GROUP"
    consumer.close()
