"""Changes of settings, shared by AlterConfigs and IncrementalAlterConfigs: one result per
resource."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from duolog.broker.catalog import Catalog
from duolog.kafka_api.config_entries import ResourceType
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidConfig, InvalidRequest, Refusal
from duolog.model.names import QUEUE_STATE_PREFIX, is_internal

Edit = Callable[[Mapping[str, str]], Mapping[str, str]]

_KEPT_IF_INTERNAL = ("cleanup.policy", "max.message.bytes")
"""Settings that protect the committed offsets of groups: changed, these would be deleted or no
longer fit."""


async def change_resources(
    catalog: Catalog,
    resources: Sequence[Any],
    edit_of: Callable[[Sequence[Any]], Edit],
    *,
    validate_only: bool,
) -> list[dict[str, Any]]:
    """Edit each topic's overrides; `edit_of` turns the requested changes into an edit."""
    times = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    results = []
    for resource in resources:
        named = resource.resource_type, resource.resource_name
        result = {
            "error_code": 0,
            "error_message": None,
            "resource_type": named[0],
            "resource_name": named[1],
        }
        try:
            if times[named] > 1:
                raise InvalidRequest("the request names this resource more than once")
            _check_changes(resource)
            edit = edit_of(resource.configs)
            if resource.resource_name.startswith(QUEUE_STATE_PREFIX):
                raise InvalidConfig(
                    "a queue manages its own journal; set the queue's attributes instead"
                )
            if is_internal(resource.resource_name):
                edit = _keeping_what_groups_need(edit)
            await catalog.edit_config(resource.resource_name, edit, validate_only=validate_only)
        except Refusal as refusal:
            result["error_code"] = code_of(refusal)
            result["error_message"] = str(refusal)
        results.append(result)
    return results


def _check_changes(resource: Any) -> None:
    if resource.resource_type == ResourceType.BROKER:
        raise InvalidRequest(
            "a node reads its settings when it starts: set them in its file, its environment or"
            " its command line"
        )
    if resource.resource_type != ResourceType.TOPIC:
        raise InvalidRequest(f"resources of type {resource.resource_type} have no settings here")
    times = Counter(config.name for config in resource.configs)
    if twice := [name for name, count in times.items() if count > 1]:
        raise InvalidRequest(f"the request names {', '.join(twice)} more than once")


def _keeping_what_groups_need(edit: Edit) -> Edit:
    def checked(present: Mapping[str, str]) -> Mapping[str, str]:
        changed = edit(present)
        for name in _KEPT_IF_INTERNAL:
            if changed.get(name) != present.get(name):
                raise InvalidConfig(f"{name} of an internal topic cannot be changed")
        return changed

    return checked


def text_of(config: Any) -> str:
    if config.value is None:
        raise InvalidRequest(f"{config.name} needs a value")
    text: str = config.value
    return text
