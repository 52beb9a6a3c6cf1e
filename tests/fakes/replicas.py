"""Several brokers in one process, over one metadata store, that copy from each other.

There is no controller: the test elects. Peers call each other's handlers directly, and links
between two nodes can be cut.
"""

import asyncio
import uuid
from collections.abc import Callable
from itertools import count

import msgspec
from tests.fakes.group_shell import SetClock
from tests.fakes.held_disk import HeldDisk

from duolog.broker.broker import Broker
from duolog.broker.catalog import Catalog
from duolog.broker.catalog_entries import decode_state, encode_state, partition_key
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import TopicOffsetStore
from duolog.broker.membership.entries import broker_key, encode
from duolog.broker.membership.own_condition import OwnCondition
from duolog.broker.partition import Partition
from duolog.broker.producer_ids import ProducerIds
from duolog.broker.replication.replicator import Replicator
from duolog.config.settings import Settings
from duolog.core.groups.settings import GroupSettings
from duolog.model.cluster import ROLES, LiveNode, NodeRecord, Registration
from duolog.model.partition_state import PartitionState
from duolog.model.statement import Statement
from duolog.observe.metrics import Metrics
from duolog.peer_api.handlers.fetch import FetchHandler
from duolog.ports.metastore import Compare, MetaStore, Put
from duolog.ports.peers import Caller, PeerHandler, PeerUnreachable
from duolog.ports.transport import FileRange
from duolog.records.builder import build_batch
from duolog.records.record import Record

LAG_MS_MAX = 10_000
WAIT_MS = 30


class KnownNodes:
    def __init__(self) -> None:
        self.controller: int | None = None
        self.live: dict[int, LiveNode] = {}
        self.records: dict[int, NodeRecord] = {}
        self.statements: dict[int, Statement] = {}

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        return (f"host-{node}", 9092) if node in self.live else None


class Node:
    """One broker, what it stands on, and what outlives it."""

    def __init__(self, house: "House", node: int) -> None:
        self.house = house
        self.given: dict[str, str] = {}
        """Settings beside those that all have."""
        self.id = node
        self.disk = HeldDisk()
        self.condition = OwnCondition()
        self.failures: list[OSError] = []
        self.broker: Broker
        self.replicator: Replicator
        self.handler: PeerHandler

    async def start(self) -> None:
        epoch = await self.house.register(self.id)
        house = self.house
        settings = Settings.load(
            {
                "node.id": str(self.id),
                "replica.fetch.wait.max.ms": str(WAIT_MS),
                "replica.lag.time.max.ms": str(LAG_MS_MAX),
                **self.given,
            }
        )
        catalog = Catalog(
            house.store, self.id, new_id=house.new_id, nodes=house.nodes, default_factor=3
        )
        self.broker = Broker(
            disk=self.disk,
            clock=house.clock,
            settings=settings,
            catalog=catalog,
            producer_ids=ProducerIds(house.store),
            metrics=Metrics(),
            node_id=self.id,
            cluster_id="c",
            on_storage_failure=self.failures.append,
            new_id=house.new_id,
        )
        groups = GroupSettings()
        self.broker.groups = GroupCoordinator(
            house.clock, TopicOffsetStore(self.broker, groups), groups
        )
        self.replicator = Replicator(self.broker, house.peers_of(self), house.store, self.condition)
        self.handler = FetchHandler(self.replicator.copies)
        self.broker.roles.await_registration()
        await self.broker.start()
        self.replicator.start()
        self.broker.registered(epoch)

    async def crash(self) -> None:
        """Lose what was not synced."""
        await self.replicator.stop()
        await self.broker.catalog.stop()
        self.disk.crash()

    def partition(self, topic: str = "t", index: int = 0) -> Partition:
        return self.broker.partition(topic, index)

    def offsets(self, topic: str = "t", index: int = 0) -> list[int]:
        """Where the batches begin."""
        return [each.base_offset for each in self.partition(topic, index).log.headers(0)]

    def content(self, topic: str = "t", index: int = 0) -> bytes:
        log = self.partition(topic, index).log
        return (
            b"".join(bytes(batch) for batch in log.batches(log.start_offset, 1 << 30))
            if log.end_offset > log.start_offset
            else b""
        )


class _FakePeers:
    def __init__(self, house: "House", node: Node) -> None:
        self._house = house
        self._node = node

    async def call(
        self, node: int, kind: int, body: bytes, *, timeout_ms: int, lane: str = ""
    ) -> memoryview:
        return await self._house.call(self._node.id, node, body)


class House:
    def __init__(self, store: MetaStore) -> None:
        self.store = store
        self.clock = SetClock()
        self.nodes = KnownNodes()
        self.cut: set[tuple[int, int]] = set()
        """Links (from, to) on which nothing is answered."""
        self.answered: Callable[[int, int, bytes], bytes] = lambda source, target, answer: answer
        """What becomes of an answer on its way from one node to another."""
        self._numbers = count(1)
        self._members: dict[int, Node] = {}

    def new_id(self) -> uuid.UUID:
        return uuid.UUID(int=next(self._numbers))

    def __getitem__(self, node: int) -> Node:
        return self._members[node]

    async def start(self, *nodes: int) -> None:
        for node in nodes:
            await self.register(node)
        for node in nodes:
            self._members[node] = Node(self, node)
            await self._members[node].start()

    async def stop(self) -> None:
        for node in self._members.values():
            await node.replicator.stop()
            await node.broker.catalog.stop()

    def peers_of(self, node: Node) -> "_FakePeers":
        return _FakePeers(self, node)

    async def call(self, source: int, target: int, body: bytes) -> memoryview:
        await asyncio.sleep(0)
        if (source, target) in self.cut or target not in self._members:
            raise PeerUnreachable(target, "does not answer", was_sent=False)
        caller = Caller(source, self.nodes.live[source].epoch)
        chunks = await self._members[target].handler(caller, memoryview(body))
        if (source, target) in self.cut:
            raise PeerUnreachable(target, "does not answer", was_sent=True)
        assert not isinstance(chunks, bytes)
        answer = b"".join(
            each.file.pread(each.length, each.position) if isinstance(each, FileRange) else each
            for each in chunks
        )
        return memoryview(self.answered(target, source, answer))

    def isolate(self, node: int) -> None:
        for other in self._members:
            self.cut |= {(node, other), (other, node)}

    def heal(self) -> None:
        self.cut.clear()

    async def register(self, node: int) -> int:
        registration = Registration(
            node=node,
            incarnation=str(next(self._numbers)),
            directory="d",
            stopped_cleanly=True,
            rack=f"rack-{node}",
            host=f"host-{node}",
            roles=ROLES,
        )
        result = await self.store.transact([], [Put(broker_key(node), encode(registration))])
        self.nodes.live[node] = LiveNode(registration, result.revision)
        return result.revision

    async def create(
        self, replicas: tuple[int, ...] = (1, 2, 3), name: str = "t", **overrides: str
    ) -> None:
        """A topic of one partition, known to all of its replicas."""
        written = {key.replace("_", "."): value for key, value in overrides.items()}
        maker = self._members[replicas[0]].broker.catalog
        await maker.create_topic(name, 1, written, assignment={0: replicas})
        await eventually(
            lambda: all((name, 0) in self._members[each].broker.routes for each in replicas)
        )

    async def state(self, name: str = "t") -> PartitionState:
        topic = next(iter(self._members.values())).broker.catalog.get(name)
        entry = await self.store.get(partition_key(topic.id, 0))
        assert entry is not None
        return decode_state(entry).state

    async def change(self, name: str = "t", **fields: object) -> None:
        """As the controller would: change the partition's state, by transaction."""
        topic = next(iter(self._members.values())).broker.catalog.get(name)
        key = partition_key(topic.id, 0)
        is_done = False
        while not is_done:
            entry = await self.store.get(key)
            assert entry is not None
            state = msgspec.structs.replace(decode_state(entry).state, **fields)
            compare = Compare(key, entry.mod_revision)
            # A leader may change its in-sync set at the same time.
            is_done = (
                await self.store.transact([compare], [Put(key, encode_state(state))])
            ).committed

    async def elect(self, leader: int, name: str = "t", **fields: object) -> None:
        state = await self.state(name)
        live = self.nodes.live.get(leader)
        await self.change(
            name,
            leader=leader,
            leader_epoch=state.leader_epoch + 1,
            broker_epoch=0 if live is None else live.epoch,
            **fields,
        )
        if leader in self._members and leader >= 0:
            partition = self._members[leader].broker.partition(name, 0)
            epoch = state.leader_epoch + 1
            await eventually(lambda: partition.is_leader and partition.leader_epoch == epoch)


def a_batch(*values: bytes, producer_id: int = -1, sequence: int = -1) -> bytearray:
    return bytearray(
        build_batch(
            [Record(b"k", value, timestamp=1_700_000_000_000) for value in values or (b"v",)],
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
        )
    )


def write(partition: Partition, *values: bytes) -> int:
    """Append without waiting for anybody; the end offset."""
    now_ms = 1_700_000_000_000
    return partition.append_alone(memoryview(a_batch(*values)), now_ms)[1]


async def eventually(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Fails unless it holds before long."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not holds():
        if loop.time() > until:
            raise AssertionError("it did not come to that in time")
        await asyncio.sleep(0.002)
