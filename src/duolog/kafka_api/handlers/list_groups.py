"""ListGroups: every group, or those of certain states and types."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import Refusal

CLASSIC = "classic"
"""The type of every group here: a leader among its members assigns the partitions."""


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    states = {each.lower() for each in getattr(request, "states_filter", ())}
    types = {each.lower() for each in getattr(request, "types_filter", ())}
    try:
        groups = broker.groups.groups
    except Refusal as refusal:
        return {"error_code": code_of(refusal), "groups": []}
    return {
        "error_code": 0,
        "groups": [
            {
                "group_id": group.id,
                "protocol_type": group.protocol_type,
                "group_state": group.state.value,
                "group_type": CLASSIC,
            }
            for group in groups
            if (not states or group.state.value.lower() in states)
            and (not types or CLASSIC in types)
        ],
    }
