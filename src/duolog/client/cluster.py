"""Finds the brokers of a cluster, and keeps one connection to each broker in use."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from duolog.client.connection import CALL_SECONDS_MAX, FRAME_BYTES_MAX, Connection, Part, connect
from duolog.client.errors import Endpoint, Refused, check
from duolog.client.metadata import NO_LEADER, Metadata, TopicInfo, read_metadata, request_fields
from duolog.wire.kafka.apis import ApiKey

T = TypeVar("T")

CLIENT_ID = "duolog"
RETRY_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Pauses between attempts while the cluster elects leaders or moves coordinators."""

_PASSING = frozenset(
    (
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_CONTROLLER",
    )
)
"""Transient refusals: the broker did nothing, and a retry can succeed."""

_GROUP_KEY = 0


class Cluster:
    """Connections to the brokers of a cluster. A context manager: leaving it closes them."""

    def __init__(
        self,
        bootstrap: Endpoint,
        *,
        client_id: str = CLIENT_ID,
        frame_bytes_max: int = FRAME_BYTES_MAX,
    ) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._frame_bytes_max = frame_bytes_max
        self._brokers: Mapping[int, Endpoint] = {}
        self._topics: dict[str, TopicInfo] = {}
        self._coordinators: dict[str, int] = {}
        self._connections: dict[Endpoint, asyncio.Task[Connection]] = {}

    async def call(
        self,
        api_key: ApiKey,
        fields: Mapping[str, Any],
        *,
        node: int | None = None,
        seconds_max: float = CALL_SECONDS_MAX,
    ) -> Any:
        """Sends a request to a node, by default the bootstrap one, and returns kio's response."""
        connection = await self._connection(node)
        return await connection.call(api_key, fields, seconds_max=seconds_max)

    async def call_encoded(
        self, api_key: ApiKey, body: Sequence[Part], *, node: int | None = None
    ) -> Any:
        """Sends a request whose body is encoded already, in parts."""
        connection = await self._connection(node)
        return await connection.call_encoded(api_key, body)

    async def metadata(
        self, topics: Collection[str] | None = None, *, may_create: bool = False
    ) -> Metadata:
        """Asks the cluster for metadata: of the named topics, or of all."""
        fields = request_fields(topics, may_create=may_create)
        described = read_metadata(await self.call(ApiKey.METADATA, fields))
        self._brokers = described.brokers
        self._topics.update(described.topics)
        return described

    async def topic(self, name: str) -> TopicInfo:
        """Metadata of a topic, from the cache if it is there."""
        known = self._topics.get(name)
        return known or (await self.metadata([name])).topics[name]

    async def leader(self, topic: str, partition: int) -> int:
        """Node id of the partition's leader, which serves Produce and Fetch."""
        partitions = (await self.topic(topic)).partitions
        subject = f"partition {partition} of topic '{topic}'"
        if not 0 <= partition < len(partitions):
            raise Refused("UNKNOWN_TOPIC_OR_PARTITION", subject)
        if partitions[partition].leader == NO_LEADER:
            raise Refused("LEADER_NOT_AVAILABLE", subject, "it has no leader now")
        return partitions[partition].leader

    async def coordinator(self, group: str) -> int:
        """Node id of the group's coordinator, cached."""
        known = self._coordinators.get(group)
        if known is None:
            fields = {"key_type": _GROUP_KEY, "coordinator_keys": [group]}
            response = await self.call(ApiKey.FIND_COORDINATOR, fields)
            (found,) = response.coordinators
            check(found.error_code, f"group '{group}'", found.error_message)
            known = found.node_id
            self._brokers = {**self._brokers, found.node_id: (found.host, found.port)}
            self._coordinators[group] = known
        return known

    async def brokers(self) -> Collection[int]:
        if not self._brokers:
            await self.metadata([])
        return self._brokers.keys()

    async def retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retries while the refusal is transient; forgets cached leaders before each retry."""
        for pause_seconds in RETRY_PAUSES_SECONDS:
            try:
                return await attempt()
            except Refused as refusal:
                if not is_passing(refusal.name):
                    raise
            self.forget()
            await asyncio.sleep(pause_seconds)
        return await attempt()

    def forget(self) -> None:
        """Clears the cache of leaders and coordinators."""
        self._topics.clear()
        self._coordinators.clear()

    async def _connection(self, node: int | None) -> Connection:
        endpoint = self._bootstrap if node is None else await self._endpoint(node)
        opening = self._connections.get(endpoint)
        if opening is None or not _is_usable(opening):
            opening = self._connections[endpoint] = asyncio.create_task(
                connect(endpoint, client_id=self._client_id, frame_bytes_max=self._frame_bytes_max)
            )
        # Shielded: other callers may wait for the same connection, and one that is cancelled
        # must not cancel it for them.
        return await asyncio.shield(opening)

    async def _endpoint(self, node: int) -> Endpoint:
        if node not in self._brokers:
            await self.metadata([])
        if node not in self._brokers:
            raise Refused("LEADER_NOT_AVAILABLE", f"node {node}", "its address is unknown")
        return self._brokers[node]

    async def close(self) -> None:
        for opening in self._connections.values():
            opening.cancel()
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                opening.result().close()
        await asyncio.gather(*self._connections.values(), return_exceptions=True)
        self._connections.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def is_passing(name: str) -> bool:
    return name in _PASSING


def _is_usable(opening: "asyncio.Task[Connection]") -> bool:
    if not opening.done():
        return True
    if opening.cancelled() or opening.exception() is not None:
        return False
    return opening.result().is_open
