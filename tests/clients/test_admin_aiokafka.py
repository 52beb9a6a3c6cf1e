"""Administration with aiokafka's admin client."""

from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

TOPIC_ALREADY_EXISTS = 36


@pytest.fixture
async def aio_admin(address: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=address)
    await client.start()
    yield client
    await client.close()


async def config_of(client: AIOKafkaAdminClient, topic: str, name: str) -> str:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    (response,) = await client.describe_configs([resource])
    entries = response.resources[0][4]
    return {entry[0]: entry[1] for entry in entries}[name]


async def test_topics_are_created_described_grown_and_deleted(
    aio_admin: AIOKafkaAdminClient, topic: str
) -> None:
    new = NewTopic(topic, 2, 1, topic_configs={"retention.ms": "9000"})
    response = await aio_admin.create_topics([new])
    assert response.topic_errors[0][1] == 0
    response = await aio_admin.create_topics([new])
    assert response.topic_errors[0][1] == TOPIC_ALREADY_EXISTS
    (described,) = await aio_admin.describe_topics([topic])
    assert len(described["partitions"]) == 2
    assert await config_of(aio_admin, topic, "retention.ms") == "9000"

    await aio_admin.create_partitions({topic: NewPartitions(4)})
    (described,) = await aio_admin.describe_topics([topic])
    assert len(described["partitions"]) == 4

    await aio_admin.delete_topics([topic])
    assert topic not in await aio_admin.list_topics()


async def test_configs_are_replaced(aio_admin: AIOKafkaAdminClient, topic: str) -> None:
    await aio_admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"segment.ms": "60000"})])
    change = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "1234"})
    await aio_admin.alter_configs([change])
    assert await config_of(aio_admin, topic, "retention.ms") == "1234"
    assert await config_of(aio_admin, topic, "segment.ms") == str(7 * 24 * 3600 * 1000)


async def test_the_cluster_is_described(
    aio_admin: AIOKafkaAdminClient, addresses: list[str]
) -> None:
    cluster = await aio_admin.describe_cluster()
    assert sorted(f"{each['host']}:{each['port']}" for each in cluster["brokers"]) == addresses


async def test_groups_are_listed_and_records_deleted(
    aio_admin: AIOKafkaAdminClient, address: str, topic: str, group: str
) -> None:
    await aio_admin.create_topics([NewTopic(topic, 1, 1)])
    async with AIOKafkaProducer(bootstrap_servers=address) as producer:
        for each in range(10):
            await producer.send_and_wait(topic, b"%d" % each)
    partition = TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    consumer.assign([partition])
    await consumer.getone()
    await consumer.commit({partition: 5})
    await consumer.stop()

    assert group in {name for name, _ in await aio_admin.list_consumer_groups()}
    await aio_admin.describe_consumer_groups([group])
    committed = await aio_admin.list_consumer_group_offsets(group)
    assert committed[partition].offset == 5

    await aio_admin.delete_records({partition: RecordsToDelete(before_offset=3)})
    consumer = AIOKafkaConsumer(bootstrap_servers=address)
    await consumer.start()
    assert await consumer.beginning_offsets([partition]) == {partition: 3}
    assert await consumer.end_offsets([partition]) == {partition: 10}
    await consumer.stop()
