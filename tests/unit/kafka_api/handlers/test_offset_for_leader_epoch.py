import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey


@pytest.fixture(autouse=True)
async def orders(broker):
    await broker.catalog.create_topic("orders", 1, {})
    broker.write("orders", 0, records=9)


async def ask(broker, epoch, current=-1, topic="orders", version=None):
    partition = {"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}
    response = await broker.call(
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        version,
        replica_id=-1,
        topics=[{"topic": topic, "partitions": [partition]}],
    )
    ((result,),) = [each.partitions for each in response.topics]
    return result.error_code, result.leader_epoch, result.end_offset


@pytest.mark.parametrize("version", range(2, 5))
async def test_the_end_of_an_epoch_is_told_at_every_version(broker, version):
    assert await ask(broker, 1, version=version) == (ErrorCode.none, 0, 5)
    assert await ask(broker, 2, version=version) == (ErrorCode.none, 2, 9)


async def test_an_unknown_epoch_has_no_end(broker):
    assert await ask(broker, 7) == (ErrorCode.none, -1, -1)


@pytest.mark.parametrize(
    ("current", "error"),
    [
        (2, ErrorCode.none),
        (1, ErrorCode.fenced_leader_epoch),
        (3, ErrorCode.unknown_leader_epoch),
    ],
)
async def test_who_knows_another_leader_is_told_so(broker, current, error):
    assert (await ask(broker, 2, current))[0] == error


async def test_who_asks_a_follower_is_sent_to_the_leader(broker):
    broker.partition("orders", 0).is_leading = False
    assert await ask(broker, 2) == (ErrorCode.not_leader_or_follower, -1, -1)


async def test_an_unknown_topic_is_refused(broker):
    assert await ask(broker, 2, topic="nothing") == (
        ErrorCode.unknown_topic_or_partition,
        -1,
        -1,
    )
