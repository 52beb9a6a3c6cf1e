"""DescribeCluster: which brokers there are."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.operations import ALL_ON_CLUSTER
from duolog.wire.kafka.error_codes import ErrorCode

_BROKERS = 1


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    endpoint_type = getattr(request, "endpoint_type", _BROKERS)
    if endpoint_type != _BROKERS:
        return {
            "error_code": int(ErrorCode.MISMATCHED_ENDPOINT_TYPE),
            "error_message": "this address serves clients of brokers",
            "endpoint_type": _BROKERS,
        }
    host, port = broker.advertised
    here = {
        "broker_id": broker.node_id,
        "host": host,
        "port": port,
        "rack": broker.rack,
        "is_fenced": False,
    }
    described = {
        "error_code": 0,
        "error_message": None,
        "endpoint_type": _BROKERS,
        "cluster_id": broker.cluster_id,
        "controller_id": broker.node_id,
        "brokers": [here],
    }
    if request.include_cluster_authorized_operations:
        described["cluster_authorized_operations"] = ALL_ON_CLUSTER
    return described
