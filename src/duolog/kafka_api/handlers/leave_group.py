"""LeaveGroup: removes members at their own or an operator's request; old versions name only one."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.messages import MemberIdentity
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import Refusal


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    members = getattr(request, "members", None)
    if members is None:
        leaving = [MemberIdentity(request.member_id)]
    else:
        leaving = [MemberIdentity(each.member_id, each.group_instance_id) for each in members]
    try:
        results = broker.groups.leave(request.group_id, leaving)
    except Refusal as refusal:
        return {"error_code": code_of(refusal)}
    codes = [0 if refusal is None else code_of(refusal) for refusal in results]
    if members is None:
        return {"error_code": codes[0]}
    return {
        "error_code": 0,
        "members": [
            {
                "member_id": who.member_id,
                "group_instance_id": who.instance_id,
                "error_code": code,
            }
            for who, code in zip(leaving, codes, strict=True)
        ],
    }
