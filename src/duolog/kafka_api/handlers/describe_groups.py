"""DescribeGroups: the state and the members of groups."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.group import Group
from duolog.core.groups.state import GroupState
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.operations import ALL_ON_GROUP
from duolog.model.errors import GroupIdNotFound, Refusal

FIRST_VERSION_WITH_NOT_FOUND = 6


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    described = [_describe(broker, group_id, client.api_version) for group_id in request.groups]
    if getattr(request, "include_authorized_operations", False):
        for group in described:
            group["authorized_operations"] = ALL_ON_GROUP
    return {"groups": described}


def _describe(broker: Broker, group_id: str, version: int) -> dict[str, Any]:
    try:
        return _found(broker.groups.get(group_id))
    except GroupIdNotFound as refusal:
        if version < FIRST_VERSION_WITH_NOT_FOUND:
            return {"error_code": 0, "group_id": group_id, "group_state": GroupState.DEAD.value}
        return _refused(group_id, refusal, GroupState.DEAD.value)
    except Refusal as refusal:
        return _refused(group_id, refusal, "")


def _found(group: Group) -> dict[str, Any]:
    return {
        "error_code": 0,
        "group_id": group.id,
        "group_state": group.state.value,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol,
        "members": [
            {
                "member_id": member.id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "member_metadata": member.metadata,
                "member_assignment": member.assignment,
            }
            for member in group.describe_members()
        ],
    }


def _refused(group_id: str, refusal: Refusal, state: str) -> dict[str, Any]:
    return {
        "error_code": code_of(refusal),
        "error_message": str(refusal),
        "group_id": group_id,
        "group_state": state,
    }
