"""Table from API keys to handlers. Produce and Fetch bypass it."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.handlers import (
    alter_configs,
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_topic_partitions,
    elect_leaders,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    sync_group,
)
from duolog.observe.metrics import Metrics, OperationStats
from duolog.wire.kafka import api_versions
from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.frames import response_prefix
from duolog.wire.kafka.messages import decode_request, encode_response
from duolog.wire.kafka.metadata import MetadataRequest

Handler = Callable[[Broker, Any, Client], Awaitable[dict[str, Any]]]

HANDLERS: dict[ApiKey, Handler] = {
    ApiKey.LIST_OFFSETS: list_offsets.handle,
    ApiKey.OFFSET_COMMIT: offset_commit.handle,
    ApiKey.OFFSET_FETCH: offset_fetch.handle,
    ApiKey.FIND_COORDINATOR: find_coordinator.handle,
    ApiKey.JOIN_GROUP: join_group.handle,
    ApiKey.HEARTBEAT: heartbeat.handle,
    ApiKey.LEAVE_GROUP: leave_group.handle,
    ApiKey.SYNC_GROUP: sync_group.handle,
    ApiKey.DESCRIBE_GROUPS: describe_groups.handle,
    ApiKey.LIST_GROUPS: list_groups.handle,
    ApiKey.CREATE_TOPICS: create_topics.handle,
    ApiKey.DELETE_TOPICS: delete_topics.handle,
    ApiKey.DELETE_RECORDS: delete_records.handle,
    ApiKey.INIT_PRODUCER_ID: init_producer_id.handle,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch.handle,
    ApiKey.DESCRIBE_CONFIGS: describe_configs.handle,
    ApiKey.ALTER_CONFIGS: alter_configs.handle,
    ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs.handle,
    ApiKey.CREATE_PARTITIONS: create_partitions.handle,
    ApiKey.DELETE_GROUPS: delete_groups.handle,
    ApiKey.ELECT_LEADERS: elect_leaders.handle,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.handle,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments.handle,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments.handle,
    ApiKey.OFFSET_DELETE: offset_delete.handle,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.handle,
}

GUIDING_APIS = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
"""APIs by which clients learn which node to ask."""


class OutOfTouch(Exception):
    """The node has lost its lease and cannot say who leads what.

    The connection is then closed, so that the client asks another node; after an error or a stale
    answer it would ask here again.
    """


class Dispatch:
    def __init__(self, broker: Broker, metrics: Metrics) -> None:
        self._broker = broker
        self._metadata = metadata.MetadataHandler(broker)
        self._stats = {key: metrics.request("kafka", api.name) for key, api in APIS.items()}

    def stats_of(self, api_key: int, version: int) -> OperationStats:
        """The counters of an API. MalformedRequest if it is not served at this version."""
        api = APIS.get(api_key)
        if api is None or not (api.serves(version) or api_key == ApiKey.API_VERSIONS):
            raise MalformedRequest(f"API {api_key} is not served at version {version}")
        return self._stats[api.key]

    def begin(
        self, api_key: int, correlation_id: int, client: Client, body: memoryview
    ) -> bytes | Coroutine[Any, Any, bytes]:
        """The response frame, or a coroutine that returns it. Raises OutOfTouch.

        The body is decoded before this returns, because the buffer under it is reused.
        """
        if api_key in GUIDING_APIS and self._broker.roles.is_suspended:
            raise OutOfTouch
        version = client.api_version
        if api_key == ApiKey.API_VERSIONS:
            encoded = api_versions.encode_response(version)
            return response_prefix(api_key, version, correlation_id, len(encoded)) + encoded
        if api_key == ApiKey.METADATA:
            asked = self._metadata.parse(version, body)
            return self._answer_metadata(correlation_id, client, asked)
        return self._answer(correlation_id, client, decode_request(api_key, version, body))

    async def _answer_metadata(
        self, correlation_id: int, client: Client, request: MetadataRequest
    ) -> bytes:
        body = await self._metadata.handle(client, request)
        prefix = response_prefix(ApiKey.METADATA, client.api_version, correlation_id, len(body))
        return prefix + body

    async def _answer(self, correlation_id: int, client: Client, request: Any) -> bytes:
        api_key = ApiKey(request.__api_key__)
        fields = await HANDLERS[api_key](self._broker, request, client)
        if _tells_of_error(fields):
            self._stats[api_key].failed += 1
        body = encode_response(api_key, client.api_version, fields)
        return response_prefix(api_key, client.api_version, correlation_id, len(body)) + body


def _tells_of_error(answer: Any) -> bool:
    """True if the answer contains an error code anywhere."""
    if isinstance(answer, dict):
        if answer.get("error_code"):
            return True
        return any(map(_tells_of_error, answer.values()))
    return isinstance(answer, list | tuple) and any(map(_tells_of_error, answer))
