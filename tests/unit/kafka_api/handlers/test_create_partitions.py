import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey

NODE_ID = 3


async def grow(broker, name, count, assignments=None, *, version=None, validate_only=False):
    topic = {"name": name, "count": count, "assignments": assignments}
    response = await broker.call(
        ApiKey.CREATE_PARTITIONS,
        version,
        topics=[topic],
        timeout=1000,
        validate_only=validate_only,
    )
    (result,) = response.results
    return result


@pytest.mark.parametrize("version", range(4))
async def test_a_topic_grows_at_every_version(broker, version):
    await broker.catalog.create_topic("orders", 1, {})
    assert (await grow(broker, "orders", 4, version=version)).error_code == ErrorCode.none
    assert broker.catalog.get("orders").partitions == 4


async def test_validation_alone_changes_nothing(broker):
    await broker.catalog.create_topic("orders", 1, {})
    result = await grow(broker, "orders", 4, validate_only=True)
    assert result.error_code == ErrorCode.none
    assert broker.catalog.get("orders").partitions == 1


async def test_new_partitions_can_be_assigned_to_this_broker(broker):
    await broker.catalog.create_topic("orders", 1, {})
    result = await grow(broker, "orders", 2, [{"broker_ids": [NODE_ID]}])
    assert result.error_code == ErrorCode.none


@pytest.mark.parametrize(
    ("name", "count", "assignments", "error"),
    [
        ("orders", 2, None, ErrorCode.invalid_partitions),
        ("orders", 1, None, ErrorCode.invalid_partitions),
        ("nothing", 3, None, ErrorCode.unknown_topic_or_partition),
        ("__consumer_offsets", 3, None, ErrorCode.invalid_topic_exception),
        ("orders", 3, [{"broker_ids": [9]}], ErrorCode.invalid_replica_assignment),
        ("orders", 4, [{"broker_ids": [NODE_ID]}], ErrorCode.invalid_replica_assignment),
    ],
)
async def test_what_cannot_be_had_is_refused_with_a_reason(broker, name, count, assignments, error):
    await broker.catalog.create_topic("orders", 2, {})
    await broker.catalog.create_topic("__consumer_offsets", 1, {})
    result = await grow(broker, name, count, assignments)
    assert result.error_code == error
    assert result.error_message
