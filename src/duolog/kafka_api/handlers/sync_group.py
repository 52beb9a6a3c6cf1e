"""SyncGroup: takes the assignment from the group's leader, and gives each member its part."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.messages import MemberIdentity, SyncRequest
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import Refusal


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    asked = SyncRequest(
        identity=MemberIdentity(request.member_id, getattr(request, "group_instance_id", None)),
        generation=request.generation_id,
        protocol_type=getattr(request, "protocol_type", None),
        protocol=getattr(request, "protocol_name", None),
        assignments={each.member_id: each.assignment for each in request.assignments},
    )
    try:
        reply = await broker.groups.sync(request.group_id, asked)
    except Refusal as refusal:
        return {"error_code": code_of(refusal)}
    return {
        "error_code": 0,
        "protocol_type": reply.protocol_type,
        "protocol_name": reply.protocol,
        "assignment": reply.assignment,
    }
