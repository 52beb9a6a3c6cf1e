import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey


@pytest.mark.parametrize("version", range(3))
async def test_this_node_is_the_cluster(broker, version):
    response = await broker.call(ApiKey.DESCRIBE_CLUSTER, version, endpoint_type=1)
    assert response.error_code == ErrorCode.none
    assert (response.cluster_id, response.controller_id) == ("AAAAAAAAAAAAAAAAAAAAAQ", 3)
    (node,) = response.brokers
    assert (node.broker_id, node.host, node.port, node.rack) == (3, "broker.example", 9092, "north")


async def test_controllers_are_not_found_here(broker):
    response = await broker.call(ApiKey.DESCRIBE_CLUSTER, endpoint_type=2)
    assert response.error_code == ErrorCode.mismatched_endpoint_type
    assert response.brokers == ()
