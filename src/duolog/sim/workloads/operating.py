"""An operator who drains nodes, moves replicas and leaders and lets queues grow, at random.

None of this may break a promise made to a client. A refused or lost operation is not repeated,
except that drained nodes are always brought back in the end.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from duolog.client.cluster_operator import ClusterOperator
from duolog.client.errors import ClientError
from duolog.sim.cluster import Cluster
from duolog.sim.node import ADMIN_PORT
from duolog.sim.workloads.kafka_client import KafkaClient
from duolog.sim.workloads.kafka_link import LinkLost
from duolog.sim.workloads.queues import QueueLoad
from duolog.sim.world import NS_PER_S
from duolog.wire.kafka.apis import ApiKey

FIRST_SECONDS = 2.0
PAUSE_SECONDS = (1.0, 8.0)
ANSWER_SECONDS_MAX = 5.0
TIMEOUT_MS = 4_000
REPLICAS_MIN = 2
"""Smallest replica count asked for: a single copy could be the one on the wiped disk."""
PARTITIONS_MAX = 3
PREFERRED = 0
JOURNALS = "__queue."
"""Prefix of topics whose replicas follow those of a queue's messages."""


class OperatorLoad:
    def __init__(self, cluster: Cluster, queues: QueueLoad | None) -> None:
        self._cluster = cluster
        self._queues = queues
        world = cluster.world
        self._random = world.seed.random("operator")
        self._client = KafkaClient(
            cluster.client_process.network, cluster.names, world.seed.random("client operator")
        )
        self._admins = [ClusterOperator((name, ADMIN_PORT)) for name in cluster.names]
        self._drained: int | None = None
        self._actions: list[Callable[[], Awaitable[str]]] = [
            self._drain,
            self._reassign,
            self._reassign,
            self._cancel,
            self._elect,
            self._grow,
        ]
        if queues is not None:
            self._actions.append(self._spread)
        self._working: asyncio.Task[None] | None = None
        self._stopping = False
        self._is_whole = False
        """True once every node has a copy of each partition."""
        self.log: list[str] = []
        """Every operation with its time, printed when a seed is replayed."""

    async def prepare(self) -> None:
        """Do nothing: the operator needs no topic or queue of its own."""

    def begin(self) -> None:
        self._working = self._cluster.client_process.loop.create_task(self._run())

    async def finish(self) -> None:
        """Bring all drained nodes back, and give each partition a copy on every node."""
        assert self._working is not None
        self._stopping = True
        await self._cluster.as_client(_done(self._working))

    def waits_for(self) -> str:
        return "the operator"

    async def _run(self) -> None:
        await asyncio.sleep(FIRST_SECONDS)
        while not self._stopping:
            await self._try(self._random.choice(self._actions))
            await asyncio.sleep(self._random.uniform(*PAUSE_SECONDS))
        while self._drained is not None:
            await self._try(self._drain)
            await self._client.pause()
        while not self._is_whole:
            await self._try(self._complete)
            await self._client.pause()

    async def _try(self, action: Callable[[], Awaitable[str]]) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                what = await action()
        except (LinkLost, ClientError, TimeoutError) as failure:
            what = f"{action.__name__.strip('_')} failed: {type(failure).__name__}"
        self.log.append(f"{self._cluster.world.now_ns / NS_PER_S:10.6f} operator: {what}")

    async def _drain(self) -> str:
        """Drain a node, or, if one is drained already, use it again."""
        node, draining = self._drained, False
        if node is None:
            node, draining = self._random.choice(self._cluster.numbers), True
        # Set before the call: even if the answer is lost, the drain may happen.
        self._drained = node
        await self._random.choice(self._admins).drain(node, draining=draining)
        self._drained = node if draining else None
        return f"node {node} is {'drained' if draining else 'used again'}"

    async def _reassign(self) -> str:
        topic, partition = self._random.choice(await self._partitions())
        nodes = [*self._cluster.numbers]
        count = self._random.randint(min(REPLICAS_MIN, len(nodes)), len(nodes))
        return await self._alter(topic, partition, self._random.sample(nodes, count))

    async def _complete(self) -> str:
        """Ask for a copy of each partition on every node, until there is one."""
        nodes = [*self._cluster.numbers]
        fewer = [at for at, replicas in await self._described() if len(replicas) < len(nodes)]
        for topic, partition in fewer:
            if not topic.startswith(JOURNALS):
                await self._alter(topic, partition, nodes)
        self._is_whole = not fewer
        return f"{len(fewer)} partitions get more copies"

    async def _cancel(self) -> str:
        topic, partition = self._random.choice(await self._partitions())
        return await self._alter(topic, partition, None)

    async def _alter(self, topic: str, partition: int, replicas: list[int] | None) -> str:
        wanted = {"partition_index": partition, "replicas": replicas}
        fields = {"timeout": TIMEOUT_MS, "topics": [{"name": topic, "partitions": [wanted]}]}
        answer = await self._client.call_any(ApiKey.ALTER_PARTITION_REASSIGNMENTS, fields)
        code = int(answer.responses[0].partitions[0].error_code)
        return f"{topic}-{partition} goes to {replicas}, code {code}"

    async def _elect(self) -> str:
        fields = {"election_type": PREFERRED, "topic_partitions": None, "timeout": TIMEOUT_MS}
        await self._client.call_any(ApiKey.ELECT_LEADERS, fields)
        return "preferred leaders are elected"

    async def _grow(self) -> str:
        """Add a partition to a standard queue, which changes who leads it and who is asked for
        it."""
        sizes: dict[str, int] = {}
        for topic, partition in await self._partitions():
            if topic in (self._queues.standard_topics if self._queues else ()):
                sizes[topic] = max(sizes.get(topic, 0), partition + 1)
        growing = [topic for topic, size in sizes.items() if size < PARTITIONS_MAX]
        if not growing:
            return "nothing can grow"
        topic = self._random.choice(growing)
        wanted = {"name": topic, "count": sizes[topic] + 1, "assignments": None}
        fields = {"topics": [wanted], "timeout": TIMEOUT_MS, "validate_only": False}
        answer = await self._client.call_any(ApiKey.CREATE_PARTITIONS, fields)
        return f"{topic} gets a partition, code {int(answer.results[0].error_code)}"

    async def _spread(self) -> str:
        assert self._queues is not None
        await self._queues.spread_groups()
        self._actions.remove(self._spread)
        return "groups are spread over several partitions"

    async def _partitions(self) -> list[tuple[str, int]]:
        """All partitions that can be moved; journals are left out, as they follow their queue's
        messages."""
        return [at for at, _ in await self._described() if not at[0].startswith(JOURNALS)]

    async def _described(self) -> list[tuple[tuple[str, int], list[int]]]:
        """All partitions with the nodes of their replicas."""
        fields = {"topics": None, "allow_auto_topic_creation": False}
        described: Any = await self._client.call_any(ApiKey.METADATA, fields)
        found = [
            ((topic.name, each.partition_index), [*each.replica_nodes])
            for topic in described.topics
            for each in topic.partitions
        ]
        if not found:
            raise LinkLost
        return sorted(found)


async def _done(working: "asyncio.Task[None]") -> None:
    await working
