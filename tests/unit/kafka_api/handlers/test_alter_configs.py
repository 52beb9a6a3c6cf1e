import pytest
from kio.schema.errors import ErrorCode

from duolog.model.names import OFFSETS_TOPIC
from duolog.wire.kafka.apis import ApiKey

TOPIC, BROKER, GROUP = 2, 4, 32


def resource(configs, kind=TOPIC, name="orders"):
    return {
        "resource_type": kind,
        "resource_name": name,
        "configs": [{"name": key, "value": value} for key, value in configs],
    }


async def alter(broker, *resources, version=None, validate_only=False):
    response = await broker.call(
        ApiKey.ALTER_CONFIGS, version, resources=resources, validate_only=validate_only
    )
    return response.responses


@pytest.fixture(autouse=True)
async def orders(broker):
    await broker.catalog.create_topic("orders", 1, {"retention.ms": "1"})


@pytest.mark.parametrize("version", range(3))
async def test_all_settings_are_replaced_at_every_version(broker, version):
    (result,) = await alter(broker, resource([("segment.ms", "2")]), version=version)
    assert result.error_code == ErrorCode.none
    assert broker.catalog.get("orders").overrides == {"segment.ms": "2"}


async def test_validation_alone_changes_nothing(broker):
    (result,) = await alter(broker, resource([("segment.ms", "2")]), validate_only=True)
    assert result.error_code == ErrorCode.none
    (result,) = await alter(broker, resource([("segment.ms", "no")]), validate_only=True)
    assert result.error_code == ErrorCode.invalid_config
    assert broker.catalog.get("orders").overrides == {"retention.ms": "1"}


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (resource([("flush.ms", "10")]), ErrorCode.invalid_config),
        (resource([("flush.messages", "1")]), ErrorCode.invalid_config),
        (resource([("remote.storage.enable", "true")]), ErrorCode.invalid_config),
        (resource([("segment.ms", None)]), ErrorCode.invalid_request),
        (resource([("segment.ms", "1"), ("segment.ms", "2")]), ErrorCode.invalid_request),
        (resource([], name="nothing"), ErrorCode.unknown_topic_or_partition),
        (resource([("num.partitions", "2")], BROKER, "3"), ErrorCode.invalid_request),
        (resource([], GROUP, "g"), ErrorCode.invalid_request),
    ],
)
async def test_what_takes_no_effect_is_refused_with_a_reason(broker, wanted, error):
    (result,) = await alter(broker, wanted)
    assert result.error_code == error
    assert result.error_message
    assert broker.catalog.get("orders").overrides == {"retention.ms": "1"}


@pytest.mark.parametrize(
    "configs",
    [
        [("cleanup.policy", "delete"), ("max.message.bytes", "9")],
        [("cleanup.policy", "compact"), ("max.message.bytes", "1")],
        [("max.message.bytes", "9")],
        [],
    ],
)
async def test_what_groups_need_of_their_topic_stays(broker, configs):
    made_with = {"cleanup.policy": "compact", "max.message.bytes": "9"}
    await broker.catalog.create_topic(OFFSETS_TOPIC, 1, made_with)
    (result,) = await alter(broker, resource(configs, name=OFFSETS_TOPIC))
    assert result.error_code == ErrorCode.invalid_config
    assert "internal" in result.error_message
    assert broker.catalog.get(OFFSETS_TOPIC).overrides == made_with


async def test_a_resource_named_twice_is_left_alone(broker):
    results = await alter(broker, resource([("segment.ms", "2")]), resource([]))
    assert [result.error_code for result in results] == [ErrorCode.invalid_request] * 2
    assert broker.catalog.get("orders").overrides == {"retention.ms": "1"}
