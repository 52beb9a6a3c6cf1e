import pytest
from kio.schema.errors import ErrorCode

from duolog.model.names import OFFSETS_TOPIC
from duolog.wire.kafka.apis import ApiKey

NODE_ID = 3


def topic(name="orders", partitions=2, replicas=1, assignments=(), **configs):
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": [
            {"partition_index": index, "broker_ids": brokers} for index, brokers in assignments
        ],
        "configs": [{"name": key, "value": value} for key, value in configs.items()],
    }


async def create(broker, *topics, version=None, validate_only=False):
    response = await broker.call(
        ApiKey.CREATE_TOPICS, version, topics=topics, timeout=1000, validate_only=validate_only
    )
    return response.topics


@pytest.mark.parametrize("version", range(2, 8))
async def test_a_topic_is_created_at_every_version(broker, version):
    (result,) = await create(broker, topic(), version=version)
    assert (result.name, result.error_code) == ("orders", ErrorCode.none)
    created = broker.catalog.get("orders")
    assert created.partitions == 2
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (2, 1)
    if version >= 7:
        assert result.topic_id == created.id


async def test_the_answer_shows_the_configuration(broker):
    (result,) = await create(broker, topic(**{"retention.ms": "1000"}))
    configs = {config.name: (config.value, config.config_source) for config in result.configs}
    assert configs["retention.ms"] == ("1000", 1)
    assert configs["cleanup.policy"] == ("delete", 5)


async def test_unsaid_numbers_are_the_nodes_defaults(broker):
    await create(broker, topic(partitions=-1, replicas=-1))
    assert broker.catalog.get("orders").partitions == 1


async def test_validation_alone_creates_nothing(broker):
    (result,) = await create(broker, topic(), validate_only=True)
    assert result.error_code == ErrorCode.none
    assert result.topic_id is None
    assert not broker.catalog.topics


async def test_one_refusal_does_not_stop_the_others(broker):
    bad, good = await create(broker, topic("a/b"), topic("fine"))
    assert bad.error_code == ErrorCode.invalid_topic_exception
    assert "letters" in bad.error_message
    assert good.error_code == ErrorCode.none


async def test_a_topic_named_twice_is_not_created(broker):
    results = await create(broker, topic("twice"), topic("twice"), topic("once"))
    assert [(each.name, each.error_code) for each in results] == [
        ("twice", ErrorCode.invalid_request),
        ("once", ErrorCode.none),
    ]


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (topic(partitions=0), ErrorCode.invalid_partitions),
        (topic(partitions=-2), ErrorCode.invalid_partitions),
        (topic(replicas=2), ErrorCode.invalid_replication_factor),
        (topic(replicas=0), ErrorCode.invalid_replication_factor),
        (topic(**{"retention.msec": "1"}), ErrorCode.invalid_config),
        (topic(**{"compression.type": "zstd"}), ErrorCode.invalid_config),
        (topic(**{"retention.ms": None}), ErrorCode.invalid_config),
        (topic(assignments=[(0, [NODE_ID])]), ErrorCode.invalid_request),
        (topic("o", -1, -1, [(0, [1])]), ErrorCode.invalid_replica_assignment),
        (topic("o", -1, -1, [(0, [NODE_ID, 4])]), ErrorCode.invalid_replica_assignment),
        (topic("o", -1, -1, [(1, [NODE_ID])]), ErrorCode.invalid_replica_assignment),
    ],
)
async def test_what_cannot_be_had_is_refused_with_a_reason(broker, wanted, error):
    (result,) = await create(broker, wanted)
    assert result.error_code == error
    assert result.error_message
    assert not broker.catalog.topics


@pytest.mark.parametrize(
    "name",
    [
        OFFSETS_TOPIC,
        "__transaction_state",
        "..consumer_offsets",
        "__consumer.offsets",
        "__queue.orders",
        "__queue_orders",
    ],
)
async def test_a_client_takes_no_internal_topics_name(broker, name):
    (result,) = await create(broker, topic(name))
    assert result.error_code == ErrorCode.invalid_topic_exception
    assert "internal" in result.error_message
    assert not broker.catalog.topics


async def test_settings_are_kept_in_one_way_of_writing(broker):
    configs = {"retention.ms": " 5 ", "cleanup.policy": "compact, delete"}
    (result,) = await create(broker, topic(**configs))
    assert broker.catalog.get("orders").overrides == {
        "retention.ms": "5",
        "cleanup.policy": "compact,delete",
    }
    shown = {config.name: config.value for config in result.configs}
    assert (shown["retention.ms"], shown["cleanup.policy"]) == ("5", "compact,delete")


async def test_an_assignment_to_this_broker_is_fine(broker):
    await create(broker, topic("orders", -1, -1, [(1, [NODE_ID]), (0, [NODE_ID])]))
    assert broker.catalog.get("orders").partitions == 2


async def test_an_existing_topic_is_refused(broker):
    await create(broker, topic())
    (result,) = await create(broker, topic())
    assert result.error_code == ErrorCode.topic_already_exists
