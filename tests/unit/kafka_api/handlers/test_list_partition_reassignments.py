import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey


@pytest.mark.parametrize(
    "topics",
    [
        None,
        [{"name": "orders", "partition_indexes": [0]}],
        [{"name": "nothing", "partition_indexes": [0]}],
    ],
)
async def test_no_partition_is_ever_on_its_way(broker, topics):
    await broker.catalog.create_topic("orders", 1, {})
    response = await broker.call(ApiKey.LIST_PARTITION_REASSIGNMENTS, topics=topics)
    assert (response.error_code, response.error_message) == (ErrorCode.none, None)
    assert response.topics == ()
