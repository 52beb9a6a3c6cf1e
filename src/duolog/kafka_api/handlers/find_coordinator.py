"""FindCoordinator: which broker serves a group."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidRequest, Refusal, TransactionsUnsupported

GROUP_KEY = 0
TRANSACTION_KEY = 1
SHARE_KEY = 2

NOWHERE = {"node_id": -1, "host": "", "port": -1}


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    answer = _find(broker, getattr(request, "key_type", GROUP_KEY))
    keys = getattr(request, "coordinator_keys", None)
    if keys is None:
        return answer
    return {"coordinators": [{"key": key, **answer} for key in keys]}


def _find(broker: Broker, key_type: int) -> dict[str, Any]:
    try:
        _check_key_type(key_type)
    except Refusal as refusal:
        return {**NOWHERE, "error_code": code_of(refusal), "error_message": str(refusal)}
    host, port = broker.advertised
    return {
        "node_id": broker.node_id,
        "host": host,
        "port": port,
        "error_code": 0,
        "error_message": None,
    }


def _check_key_type(key_type: int) -> None:
    if key_type == TRANSACTION_KEY:
        raise TransactionsUnsupported("transactions are not offered")
    if key_type == SHARE_KEY:
        raise InvalidRequest("share groups are not offered")
    if key_type != GROUP_KEY:
        raise InvalidRequest(f"coordinators are not found by keys of type {key_type}")
