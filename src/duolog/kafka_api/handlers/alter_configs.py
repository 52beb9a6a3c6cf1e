"""AlterConfigs: replaces all of a topic's own settings by those given."""

from collections.abc import Mapping, Sequence
from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.config_changes import Edit, change_resources, text_of


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    results = await change_resources(
        broker.catalog, request.resources, _replace, validate_only=request.validate_only
    )
    return {"responses": results}


def _replace(configs: Sequence[Any]) -> Edit:
    def edit(present: Mapping[str, str]) -> Mapping[str, str]:
        return {config.name: text_of(config) for config in configs}

    return edit
