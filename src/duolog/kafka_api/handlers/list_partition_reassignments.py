"""ListPartitionReassignments: which partitions are on their way to other brokers.

With one broker none ever is. What is not on its way is left out, whether it exists or not.
"""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    return {"error_code": 0, "error_message": None, "topics": []}
