"""DeleteGroups: deletes groups without members, with their committed offsets."""

import asyncio
from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import Refusal


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    # Concurrently, so that they share fsyncs.
    codes = await asyncio.gather(*(_delete(broker, each) for each in request.groups_names))
    return {
        "results": [
            {"group_id": group_id, "error_code": code}
            for group_id, code in zip(request.groups_names, codes, strict=True)
        ]
    }


async def _delete(broker: Broker, group_id: str) -> int:
    try:
        await broker.groups.delete(group_id)
    except Refusal as refusal:
        return code_of(refusal)
    return 0
