"""Handlers called as a client calls them: through dispatch, at a version of its choice."""

import itertools
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.fakes.cluster_bench import ToldEnds
from tests.fakes.kafka_calls import Caller

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog import Catalog, Topic
from duolog.broker.cluster_nodes import ClusterNodes
from duolog.broker.controller.event_log import EventLog
from duolog.broker.controller.requests import Requests
from duolog.broker.producer_ids import ProducerIds
from duolog.config.settings import Settings
from duolog.log.log import TimestampSearch
from duolog.model.errors import (
    FencedLeaderEpoch,
    NotLeader,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
)
from duolog.wire.kafka.apis import ApiKey

NODE_ID = 3


class ManualClock:
    def now_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> int:
        return 0


class InstantDisk:
    def free_bytes(self) -> int:
        return 12_345

    async def offload(self, work):
        return work()


@dataclass
class StubLog:
    """A log of which only the answers matter: record n was written at time n * 10."""

    start_offset: int = 0
    end_offset: int = 0
    size_bytes: int = 0

    def timestamp_search(self, timestamp: int) -> TimestampSearch:
        offset = max(self.start_offset, -(-timestamp // 10))
        return lambda: (offset, offset * 10) if offset < self.end_offset else None

    def max_timestamp_search(self) -> TimestampSearch:
        return self.timestamp_search((self.end_offset - 1) * 10)

    def advance_start(self, offset: int) -> None:
        self.start_offset = max(self.start_offset, offset)

    def epoch_at(self, offset: int) -> int:
        return 0 if offset < 5 else 2

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return {0: (0, 5), 1: (0, 5), 2: (2, self.end_offset)}.get(epoch, (-1, -1))


@dataclass
class StubPartition:
    topic: Topic
    index: int
    leader_epoch: int = 2
    high_watermark: int = 0
    is_current: bool = True
    is_leading: bool = True
    """Whether this node answers for it, as after every election until the next."""
    log: StubLog = field(default_factory=StubLog)

    def check_leading(self) -> None:
        if not self.is_leading:
            raise NotLeader("another node leads the partition")

    def advance_start(self, offset: int) -> None:
        self.log.advance_start(offset)

    def check_epoch(self, epoch: int) -> None:
        if epoch not in (-1, self.leader_epoch):
            raise (FencedLeaderEpoch if epoch < self.leader_epoch else UnknownLeaderEpoch)()


@dataclass
class StubRoles:
    is_suspended: bool = False
    """Whether the node has lost touch with the metadata store."""


class StubBroker:
    """The broker's attributes around a real catalog; its partitions have stub logs."""

    node_id = NODE_ID
    cluster_id = "AAAAAAAAAAAAAAAAAAAAAQ"
    advertised = ("broker.example", 9092)
    rack = "north"
    disk = InstantDisk()

    def __init__(
        self, store: SqliteStore, settings: Settings, nodes: ClusterNodes | None = None
    ) -> None:
        numbers = itertools.count(1)
        self.settings = settings
        self.catalog = Catalog(
            store,
            NODE_ID,
            new_id=lambda: uuid.UUID(int=next(numbers)),
            topic_defaults=settings.topic_defaults(),
            nodes=nodes,
            default_factor=3 if nodes else 1,
        )
        self.requests = Requests(
            store,
            ManualClock(),
            self.catalog,
            self.catalog.nodes,
            EventLog(store, NODE_ID),
            ToldEnds(),
        )
        self.producer_ids = ProducerIds(store)
        self.roles = StubRoles()
        self.caller = Caller(self)
        self._partitions: dict[tuple[str, int], StubPartition] = {}

    def partition(self, topic: str, index: int) -> StubPartition:
        if topic not in self.catalog.topics or index >= self.catalog.get(topic).partitions:
            raise UnknownTopicOrPartition(topic)
        key = topic, index
        if key not in self._partitions:
            self._partitions[key] = StubPartition(self.catalog.get(topic), index)
        return self._partitions[key]

    def led_partition(self, topic: str, index: int) -> StubPartition:
        """As the broker's: NotLeader where this node has only a copy."""
        partition = self.partition(topic, index)
        partition.check_leading()
        return partition

    def partitions(self) -> Iterator[StubPartition]:
        for topic in self.catalog.topics.values():
            for index in range(topic.partitions):
                yield self.partition(topic.name, index)

    def write(self, topic: str, index: int, records: int, committed: int | None = None) -> None:
        partition = self.partition(topic, index)
        partition.log.end_offset = records
        partition.high_watermark = records if committed is None else committed

    async def call(self, key: ApiKey, version: int | None = None, /, **fields: Any) -> Any:
        """As a client does: the response of the newest version, or of the given one."""
        return await self.caller.call(key, version, **fields)


@pytest.fixture
def flags() -> dict[str, str]:
    """Settings of the node; a test module overrides it."""
    return {}


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(":memory:", ManualClock())
    yield store
    await store.close()


@pytest.fixture
async def nodes() -> ClusterNodes | None:
    """The nodes of the cluster; None for a node alone. A test module overrides it."""
    return None


@pytest.fixture
async def broker(
    flags: dict[str, str], store: SqliteStore, nodes: ClusterNodes | None
) -> AsyncIterator[StubBroker]:
    broker = StubBroker(store, Settings.load(flags=flags), nodes)
    await broker.catalog.start()
    yield broker
    await broker.catalog.stop()
