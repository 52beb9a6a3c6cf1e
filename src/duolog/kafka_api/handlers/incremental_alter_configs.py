"""IncrementalAlterConfigs: changes single settings of a topic and keeps the others."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog import Catalog
from duolog.config.topic import TOPIC_SETTINGS
from duolog.kafka_api.client import Client
from duolog.kafka_api.config_changes import Edit, change_resources, text_of
from duolog.model.errors import InvalidConfig, InvalidRequest


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    results = await change_resources(
        broker.catalog,
        request.resources,
        partial(_change, broker.catalog),
        validate_only=request.validate_only,
    )
    return {"responses": results}


def _change(catalog: Catalog, configs: Sequence[Any]) -> Edit:
    def edit(present: Mapping[str, str]) -> Mapping[str, str]:
        changed = dict(present)
        for config in configs:
            _apply(config, changed, catalog.topic_defaults)
        return changed

    return edit


def _apply(config: Any, overrides: dict[str, str], defaults: Mapping[str, str]) -> None:
    match config.config_operation:
        case Operation.SET:
            overrides[config.name] = text_of(config)
        case Operation.DELETE:
            overrides.pop(config.name, None)
        case Operation.APPEND | Operation.SUBTRACT as operation:
            setting = TOPIC_SETTINGS.get(config.name)
            if setting is None or setting.kind != "list":
                raise InvalidConfig(f"{config.name} is not a list; APPEND and SUBTRACT need one")
            in_force = overrides.get(config.name, defaults.get(config.name, setting.default_text))
            items, named = _items(in_force), _items(text_of(config))
            if operation == Operation.APPEND:
                items += [item for item in named if item not in items]
            else:
                items = [item for item in items if item not in named]
            overrides[config.name] = ",".join(items)
        case unknown:
            raise InvalidRequest(f"{unknown} is not a config operation")


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
