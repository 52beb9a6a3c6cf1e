"""The load on topics: idempotent producers, readers, and the final comparison."""

import asyncio
from functools import partial

from duolog.sim.cluster import Cluster
from duolog.sim.oracle.groups import GroupOracle
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.oracle.topics import TopicOracle
from duolog.sim.oracle.verdict import Verdict
from duolog.sim.workloads.group_member import GroupMember
from duolog.sim.workloads.kafka_client import KafkaClient, Refused
from duolog.sim.workloads.kafka_link import LinkLost
from duolog.sim.workloads.producing import Producer
from duolog.sim.workloads.reading import Reader, fetch

TOPIC = "events"
PARTITIONS = 2
PRODUCERS = 2
MEMBERS = 2
BATCHES_PER_SECOND = 6.0
"""Average rate of each producer."""
MIN_INSYNC = 2
SEGMENT_BYTES = 16 * 1024
"""Small, so that segments are sealed and scrubbed within a seed."""


class TopicLoad:
    def __init__(
        self, cluster: Cluster, verdict: Verdict, service: ServiceOracle, *, with_group: bool
    ) -> None:
        self._service = service
        self._cluster = cluster
        self._loop = cluster.client_process.loop
        self.oracle = TopicOracle(verdict)
        self.groups = GroupOracle(verdict)
        self._members = MEMBERS if with_group else 0
        self._producers = [self._producer(f"producer-{n}") for n in range(PRODUCERS)]
        self._tasks: list[asyncio.Task[None]] = []
        self._reading: list[asyncio.Task[None]] = []

    def _client(self, name: str) -> KafkaClient:
        cluster = self._cluster
        random = cluster.world.seed.random(f"client {name}")
        return KafkaClient(cluster.client_process.network, cluster.names, random)

    def _producer(self, name: str) -> Producer:
        random = self._cluster.world.seed.random(name)
        return Producer(name, self._client(name), self.oracle, self._service, random)

    def _member(self, name: str) -> GroupMember:
        client = self._client(name)
        return GroupMember(
            self._cluster.world, client, self.oracle, self.groups, self._service, TOPIC, PARTITIONS
        )

    async def prepare(self) -> None:
        nodes = len(self._cluster.numbers)
        configs = {
            "min.insync.replicas": str(min(nodes, MIN_INSYNC)),
            "segment.bytes": str(SEGMENT_BYTES),
        }
        client = self._client("creator")
        await self._cluster.as_client(client.create_topic(TOPIC, PARTITIONS, nodes, configs))

    def begin(self) -> None:
        for producer in self._producers:
            work = producer.run(TOPIC, PARTITIONS, BATCHES_PER_SECOND)
            self._tasks.append(self._loop.create_task(work))
        for number in range(self._members):
            work = self._member(f"member-{number}").run()
            self._reading.append(self._loop.create_task(work))
        for partition in range(PARTITIONS):
            reader = Reader(self._client(f"reader-{partition}"), self.oracle)
            self._reading.append(self._loop.create_task(reader.run(TOPIC, partition)))

    async def finish(self) -> None:
        """Let the producers finish, then read all partitions again and compare."""
        for producer in self._producers:
            producer.stopping = True
        for task in self._reading:
            assert not task.done() or task.result(), "readers read for ever"
        await self._cluster.as_client(_all_of(self._tasks))
        client = self._client("examiner")
        for partition in range(PARTITIONS):
            content = await self._cluster.as_client(self._read_all(client, partition))
            self.oracle.finish(TOPIC, partition, content)
        if self._members:
            ends = {each: self.oracle.end_offset(TOPIC, each) for each in range(PARTITIONS)}
            await self.groups.until_committed(ends)

    def waits_for(self) -> str:
        """The part of the load that is not done yet, for the failure report."""
        if any(not task.done() for task in self._tasks):
            return "producers"
        return "the group or the last reading"

    async def _read_all(self, client: KafkaClient, partition: int) -> list[tuple[int, str]]:
        content: list[tuple[int, str]] = []
        offset = 0
        read = partial(fetch, client, self.oracle, TOPIC, partition, wait_ms=10)
        while True:
            try:
                fetched = await read(offset)
            except (LinkLost, Refused):
                await client.pause()
                continue
            if fetched.next_offset == offset and offset >= fetched.high_watermark:
                return content
            content += fetched.records
            offset = fetched.next_offset


async def _all_of(tasks: "list[asyncio.Task[None]]") -> None:
    await asyncio.gather(*tasks)
