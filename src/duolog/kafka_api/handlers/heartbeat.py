"""Heartbeat: keeps a member's session alive, and tells it when to rejoin."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.messages import MemberIdentity
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import Refusal


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    who = MemberIdentity(request.member_id, getattr(request, "group_instance_id", None))
    try:
        broker.groups.heartbeat(request.group_id, who, request.generation_id)
    except Refusal as refusal:
        return {"error_code": code_of(refusal)}
    return {"error_code": 0}
