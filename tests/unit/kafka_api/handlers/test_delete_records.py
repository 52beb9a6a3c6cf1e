import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey


@pytest.fixture(autouse=True)
async def topics(broker):
    await broker.catalog.create_topic("orders", 1, {})
    await broker.catalog.create_topic("table", 1, {"cleanup.policy": "compact"})
    await broker.catalog.create_topic("__consumer_offsets", 1, {})
    for name in broker.catalog.topics:
        broker.write(name, 0, records=10, committed=8)


async def delete(broker, offset, topic="orders", index=0, version=None):
    response = await broker.call(
        ApiKey.DELETE_RECORDS,
        version,
        topics=[{"name": topic, "partitions": [{"partition_index": index, "offset": offset}]}],
        timeout=1000,
    )
    ((result,),) = [each.partitions for each in response.topics]
    return result.error_code, result.low_watermark


@pytest.mark.parametrize("version", range(3))
async def test_the_start_moves_at_every_version(broker, version):
    assert await delete(broker, 4, version=version) == (ErrorCode.none, 4)
    assert broker.partition("orders", 0).log.start_offset == 4


async def test_minus_one_is_the_high_watermark(broker):
    assert await delete(broker, -1) == (ErrorCode.none, 8)


async def test_the_start_never_moves_back(broker):
    await delete(broker, 4)
    assert await delete(broker, 2) == (ErrorCode.none, 4)


@pytest.mark.parametrize(
    ("offset", "topic", "index", "error"),
    [
        (9, "orders", 0, ErrorCode.offset_out_of_range),
        (-2, "orders", 0, ErrorCode.offset_out_of_range),
        (1, "table", 0, ErrorCode.policy_violation),
        (1, "__consumer_offsets", 0, ErrorCode.invalid_topic_exception),
        (1, "orders", 1, ErrorCode.unknown_topic_or_partition),
        (1, "nothing", 0, ErrorCode.unknown_topic_or_partition),
    ],
)
async def test_what_must_stay_is_refused(broker, offset, topic, index, error):
    assert await delete(broker, offset, topic, index) == (error, -1)


async def test_a_follower_deletes_nothing(broker):
    broker.partition("orders", 0).is_leading = False
    assert await delete(broker, 4) == (ErrorCode.not_leader_or_follower, -1)
    assert broker.partition("orders", 0).log.start_offset == 0
