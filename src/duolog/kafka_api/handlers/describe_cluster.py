"""DescribeCluster: the cluster's id, controller and reachable brokers."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.endpoints import controller_id, endpoints
from duolog.kafka_api.operations import ALL_ON_CLUSTER
from duolog.wire.kafka.error_codes import ErrorCode

_BROKERS = 1


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    endpoint_type = getattr(request, "endpoint_type", _BROKERS)
    if endpoint_type != _BROKERS:
        return {
            "error_code": int(ErrorCode.MISMATCHED_ENDPOINT_TYPE),
            "error_message": "this endpoint serves broker clients, not controller clients",
            "endpoint_type": _BROKERS,
        }
    described = {
        "error_code": 0,
        "error_message": None,
        "endpoint_type": _BROKERS,
        "cluster_id": broker.cluster_id,
        "controller_id": controller_id(broker),
        "brokers": [
            {
                "broker_id": each.node_id,
                "host": each.host,
                "port": each.port,
                "rack": each.rack,
                "is_fenced": False,
            }
            for each in endpoints(broker)
        ],
    }
    if request.include_cluster_authorized_operations:
        described["cluster_authorized_operations"] = ALL_ON_CLUSTER
    return described
