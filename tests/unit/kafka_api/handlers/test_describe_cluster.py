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


@pytest.mark.parametrize("version", range(3))
async def test_operations_come_only_when_asked_for(broker, version):
    silent = await broker.call(ApiKey.DESCRIBE_CLUSTER, version, endpoint_type=1)
    assert silent.cluster_authorized_operations == -(1 << 31)
    asked = {"endpoint_type": 1, "include_cluster_authorized_operations": True}
    told = await broker.call(ApiKey.DESCRIBE_CLUSTER, version, **asked)
    assert told.cluster_authorized_operations == 8096


async def test_controllers_are_not_found_here(broker):
    response = await broker.call(ApiKey.DESCRIBE_CLUSTER, endpoint_type=2)
    assert response.error_code == ErrorCode.mismatched_endpoint_type
    assert response.brokers == ()
