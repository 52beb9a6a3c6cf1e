"""FindCoordinator: the broker that coordinates a group."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.endpoints import endpoint
from duolog.kafka_api.errors import code_of
from duolog.model.errors import (
    CoordinatorNotAvailable,
    InvalidRequest,
    Refusal,
    TransactionsUnsupported,
)
from duolog.model.names import OFFSETS_TOPIC
from duolog.wire.kafka.leaders import NodeEndpoint

GROUP_KEY = 0
TRANSACTION_KEY = 1
SHARE_KEY = 2

NOWHERE = {"node_id": -1, "host": "", "port": -1}


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    key_type = getattr(request, "key_type", GROUP_KEY)
    keys = getattr(request, "coordinator_keys", None)
    if keys is None:
        return await _answer(broker, key_type, request.key)
    return {"coordinators": [{"key": key, **await _answer(broker, key_type, key)} for key in keys]}


async def _answer(broker: Broker, key_type: int, key: str) -> dict[str, Any]:
    try:
        _check_key_type(key_type)
        found = await _find(broker, key)
    except Refusal as refusal:
        return {**NOWHERE, "error_code": code_of(refusal), "error_message": str(refusal)}
    return {
        "node_id": found.node_id,
        "host": found.host,
        "port": found.port,
        "error_code": 0,
        "error_message": None,
    }


async def _find(broker: Broker, group_id: str) -> NodeEndpoint:
    try:
        index = await broker.groups.locate(group_id)
        leader = broker.catalog.leader_of(OFFSETS_TOPIC, index)
    except Refusal as refusal:
        # The one error that every client retries, whatever keeps the offsets topic from being
        # created: a full disk, an unavailable metadata store, too few brokers.
        raise CoordinatorNotAvailable(str(refusal)) from refusal
    found = None if leader is None else endpoint(broker, leader)
    if found is None:
        raise CoordinatorNotAvailable("no reachable node leads the group's partition now")
    return found


def _check_key_type(key_type: int) -> None:
    if key_type == TRANSACTION_KEY:
        raise TransactionsUnsupported("transactions are not supported")
    if key_type == SHARE_KEY:
        raise InvalidRequest("share groups are not supported")
    if key_type != GROUP_KEY:
        raise InvalidRequest(f"there are no coordinators for keys of type {key_type}")
