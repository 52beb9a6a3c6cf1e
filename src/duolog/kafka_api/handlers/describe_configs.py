"""DescribeConfigs: every setting of a topic or of this node, with its source and documentation."""

from collections.abc import Iterable
from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.config_entries import ResourceType, node_entries, topic_entries
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidRequest, Refusal
from duolog.model.names import check_topic_name

_CLUSTER_WIDE = ""
"""Resource name of the defaults of all brokers; there are none, as each node has its own
settings."""


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    with_documentation = getattr(request, "include_documentation", False)
    results = []
    for resource in request.resources:
        result = {
            "error_code": 0,
            "error_message": None,
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
            "configs": [],
        }
        try:
            entries = list(_entries(broker, resource.resource_type, resource.resource_name))
        except Refusal as refusal:
            result["error_code"] = code_of(refusal)
            result["error_message"] = str(refusal)
        else:
            if resource.configuration_keys:
                wanted = set(resource.configuration_keys)
                entries = [entry for entry in entries if entry["name"] in wanted]
            for entry in entries:
                if not request.include_synonyms:
                    entry["synonyms"] = []
                if not with_documentation:
                    entry["documentation"] = None
            result["configs"] = entries
        results.append(result)
    return {"results": results}


def _entries(broker: Broker, resource_type: int, name: str) -> Iterable[dict[str, Any]]:
    match resource_type:
        case ResourceType.TOPIC:
            check_topic_name(name)
            return topic_entries(broker.catalog.get(name), broker.settings)
        case ResourceType.BROKER if name == str(broker.node_id):
            return node_entries(broker.settings)
        case ResourceType.BROKER if name == _CLUSTER_WIDE:
            return ()
        case ResourceType.BROKER:
            raise InvalidRequest(f"this is broker {broker.node_id}, not '{name}'")
        case _:
            raise InvalidRequest(f"resources of type {resource_type} have no settings here")
