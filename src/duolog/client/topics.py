"""Creates, deletes and describes topics."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from duolog.client.cluster import Cluster
from duolog.client.errors import check
from duolog.wire.kafka.apis import ApiKey

UNSAID = -1
"""Default count: the cluster chooses the number of partitions or replicas."""

_TOPIC = 2
_OWN_VALUE = 1
_TIMEOUT_MS = 30_000


class ConfigEntry(NamedTuple):
    value: str | None
    is_own: bool
    """True if set on this topic; False for a default."""


async def create_topic(
    cluster: Cluster, name: str, partitions: int = UNSAID, configs: Mapping[str, str] | None = None
) -> int:
    """Creates the topic; returns its number of partitions."""
    wanted: dict[str, Any] = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": UNSAID,
        "assignments": [],
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }
    fields = {"topics": [wanted], "timeout": _TIMEOUT_MS, "validate_only": False}

    async def attempt() -> Any:
        response = await cluster.call(ApiKey.CREATE_TOPICS, fields)
        (created,) = response.topics
        check(created.error_code, f"topic '{name}'", created.error_message)
        return created

    created = await cluster.retry(attempt)
    count: int = created.num_partitions
    return count


async def delete_topic(cluster: Cluster, name: str) -> None:
    fields = {"topics": [{"name": name, "topic_id": None}], "timeout": _TIMEOUT_MS}

    async def attempt() -> None:
        response = await cluster.call(ApiKey.DELETE_TOPICS, fields)
        (deleted,) = response.responses
        check(deleted.error_code, f"topic '{name}'", deleted.error_message)

    await cluster.retry(attempt)
    cluster.forget()


async def topic_configs(cluster: Cluster, name: str) -> dict[str, ConfigEntry]:
    resource = {"resource_type": _TOPIC, "resource_name": name, "configuration_keys": None}
    response = await cluster.call(ApiKey.DESCRIBE_CONFIGS, {"resources": [resource]})
    (described,) = response.results
    check(described.error_code, f"topic '{name}'", described.error_message)
    return {
        each.name: ConfigEntry(each.value, each.config_source == _OWN_VALUE)
        for each in described.configs
    }
