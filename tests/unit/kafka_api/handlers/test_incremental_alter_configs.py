import pytest
from kio.schema.errors import ErrorCode

from duolog.model.names import OFFSETS_TOPIC
from duolog.wire.kafka.apis import ApiKey

TOPIC = 2
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture(autouse=True)
async def orders(broker):
    await broker.catalog.create_topic("orders", 1, {"retention.ms": "1"})


async def change(broker, *changes, topic="orders", version=None, validate_only=False):
    configs = [
        {"name": name, "config_operation": operation, "value": value}
        for operation, name, value in changes
    ]
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": configs}
    response = await broker.call(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        version,
        resources=[resource],
        validate_only=validate_only,
    )
    (result,) = response.responses
    return result


@pytest.mark.parametrize("version", range(2))
async def test_setting_one_leaves_the_others(broker, version):
    result = await change(broker, (SET, "segment.ms", "2"), version=version)
    assert result.error_code == ErrorCode.none
    assert broker.catalog.get("orders").overrides == {"retention.ms": "1", "segment.ms": "2"}


async def test_deleting_returns_to_the_default(broker):
    await change(broker, (DELETE, "retention.ms", None))
    topic = broker.catalog.get("orders")
    assert topic.overrides == {}
    assert topic.config.retention_ms == 604_800_000


async def test_appending_adds_to_the_list_in_force(broker):
    await change(broker, (APPEND, "cleanup.policy", "compact"))
    topic = broker.catalog.get("orders")
    assert topic.overrides["cleanup.policy"] == "delete,compact"
    assert topic.config.cleanup_compact
    await change(broker, (APPEND, "cleanup.policy", "compact"))
    assert broker.catalog.get("orders").overrides["cleanup.policy"] == "delete,compact"


async def test_subtracting_takes_from_the_list_in_force(broker):
    await change(broker, (SET, "cleanup.policy", "compact,delete"))
    await change(broker, (SUBTRACT, "cleanup.policy", "delete"))
    assert broker.catalog.get("orders").overrides["cleanup.policy"] == "compact"


async def test_a_change_is_kept_in_one_way_of_writing(broker):
    await change(broker, (SET, "segment.ms", " 5 "), (SET, "cleanup.policy", "compact, delete"))
    overrides = broker.catalog.get("orders").overrides
    assert (overrides["segment.ms"], overrides["cleanup.policy"]) == ("5", "compact,delete")


async def test_the_offsets_topic_stays_compacted_whatever_else_changes(broker):
    await broker.catalog.create_topic(OFFSETS_TOPIC, 1, {"cleanup.policy": "compact"})
    for wanted in (
        (SET, "cleanup.policy", "delete"),
        (DELETE, "cleanup.policy", None),
        (APPEND, "cleanup.policy", "delete"),
    ):
        result = await change(broker, wanted, topic=OFFSETS_TOPIC)
        assert result.error_code == ErrorCode.invalid_config
    result = await change(broker, (SET, "segment.ms", "2"), topic=OFFSETS_TOPIC)
    assert result.error_code == ErrorCode.none
    assert broker.catalog.get(OFFSETS_TOPIC).overrides == {
        "cleanup.policy": "compact",
        "segment.ms": "2",
    }


async def test_validation_alone_changes_nothing(broker):
    result = await change(broker, (SET, "segment.ms", "2"), validate_only=True)
    assert result.error_code == ErrorCode.none
    assert broker.catalog.get("orders").overrides == {"retention.ms": "1"}


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ((SET, "segment.ms", "soon"), ErrorCode.invalid_config),
        ((SET, "segment.ms", None), ErrorCode.invalid_request),
        ((SET, "compression.type", "gzip"), ErrorCode.invalid_config),
        ((SET, "flush.messages", "1"), ErrorCode.invalid_config),
        ((SUBTRACT, "cleanup.policy", "delete"), ErrorCode.invalid_config),
        ((APPEND, "cleanup.policy", "shred"), ErrorCode.invalid_config),
        ((APPEND, "retention.ms", "2"), ErrorCode.invalid_config),
        ((APPEND, "retention.msec", "2"), ErrorCode.invalid_config),
        ((9, "retention.ms", "2"), ErrorCode.invalid_request),
    ],
)
async def test_what_takes_no_effect_is_refused_with_a_reason(broker, wanted, error):
    result = await change(broker, (SET, "max.message.bytes", "99"), wanted)
    assert result.error_code == error
    assert result.error_message
    assert broker.catalog.get("orders").overrides == {"retention.ms": "1"}
