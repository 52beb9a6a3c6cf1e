"""Several nodes that serve queues, over one metadata store, and copy from each other.

There is no controller: the test elects. Peers call each other's handlers directly.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from tests.fakes.poster import FakePoster
from tests.fakes.replicas import House, Node, eventually

from duolog.broker.catalog_entries import decode_state, encode_state, partition_key
from duolog.broker.queues.catalog import QueueCatalog
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queues import Queues
from duolog.broker.queues.receipt_key import establish_receipt_key
from duolog.broker.queues.receiving import Received
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.model.names import queue_state_topic
from duolog.peer_api.handlers.queues import queue_handlers
from duolog.ports.metastore import Compare, MetaStore, Put
from duolog.ports.peers import Caller, PeerHandlers, PeerUnreachable
from duolog.wire.peer.kinds import PeerKind
from duolog.wire.peer.refusals import decode_refusal, encode_refusal

REGION, ACCOUNT = "us-east-1", "000000000000"


class QueueNode(Node):
    queues: Queues
    handlers: PeerHandlers

    async def start(self) -> None:
        await super().start()
        store = self.house.store
        catalog = QueueCatalog(
            store, new_id=self.house.new_id, region=REGION, account=ACCOUNT, hold_ms=0
        )
        self.queues = Queues(
            self.broker,
            store,
            catalog,
            FakePoster(),
            receipt_key=await establish_receipt_key(store, bytes),
            peers=QueuePeers(self.house, self),
        )
        self.handlers = queue_handlers(self.queues)
        await self.queues.start()

    async def crash(self) -> None:
        await self.queues.halt()
        await self.queues.catalog.stop()
        await super().crash()

    def partition_of(self, name: str, index: int = 0) -> QueuePartition | None:
        queue = self.queues.find(name)
        return None if queue is None else queue.partition(index)

    # What clients do.

    async def create(self, name: str, **attributes: str) -> None:
        await self.queues.create(name, attributes, {})

    async def send(self, name: str, *messages: Outgoing) -> list[Any]:
        return await _told(lambda done: self.queues.get(name).send(messages, done))

    async def receive(
        self,
        name: str,
        count: int = 10,
        *,
        wait_ms: int = 0,
        visibility_ms: int | None = None,
        attempt: str | None = None,
    ) -> list[Received]:
        return await _told(
            lambda done: self.queues.get(name).receive(
                count=count,
                wait_ms=wait_ms,
                visibility_ms=visibility_ms,
                attempt=attempt,
                done=done,
            )
        )

    async def delete(self, name: str, *handles: str) -> list[Refusal | None]:
        return await _told(lambda done: self.queues.get(name).delete(handles, done))

    async def hide(self, name: str, handle: str, ms: int) -> list[Refusal | None]:
        return await _told(
            lambda done: self.queues.get(name).change_visibility([(handle, ms)], done)
        )

    async def counts(self, name: str) -> tuple[int, int, int]:
        level = await self.queues.level(name)
        return level.ready, level.in_flight, level.delayed


async def _told(ask: Callable[[Callable[[Any], None]], object]) -> Any:
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    ask(told.set_result)
    async with asyncio.timeout(20):
        answer = await told
    if isinstance(answer, Refusal):
        raise answer
    return answer


class QueuePeers:
    """Each answer and each refusal travels as bytes."""

    def __init__(self, house: House, node: QueueNode) -> None:
        self._house = house
        self._node = node

    async def call(
        self, node: int, kind: int, body: bytes, *, timeout_ms: int, lane: str = ""
    ) -> memoryview:
        house, here = self._house, self._node.id
        if kind == PeerKind.FETCH:
            return await house.call(here, node, body)
        await asyncio.sleep(0)
        if (here, node) in house.cut or node not in house.nodes.live:
            raise PeerUnreachable(node, "does not answer", was_sent=False)
        there = house[node]
        assert isinstance(there, QueueNode)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                answer = await there.handlers[kind](Caller(here, 1), memoryview(body))
        except Refusal as refusal:
            raise decode_refusal(memoryview(encode_refusal(refusal))) from None
        if (here, node) in house.cut:
            raise PeerUnreachable(node, "does not answer", was_sent=True)
        assert isinstance(answer, bytes)
        return memoryview(answer)


class QueueCluster(House):
    def __init__(self, store: MetaStore) -> None:
        super().__init__(store)
        self.new_node = QueueNode

    def node(self, number: int) -> QueueNode:
        found = self[number]
        assert isinstance(found, QueueNode)
        return found

    @property
    def living(self) -> list[QueueNode]:
        return [self.node(each) for each in sorted(self.nodes.live)]

    async def start(self, *nodes: int) -> None:
        for node in nodes:
            await self.register(node)
        for node in nodes:
            self._members[node] = QueueNode(self, node)
            await self._members[node].start()

    async def stop(self) -> None:
        for node in self.living:
            await node.queues.halt()
            await node.queues.catalog.stop()
            await node.replicator.stop()
            await node.broker.catalog.stop()

    def leader(self, name: str, index: int = 0) -> QueueNode:
        found = self.living[0].broker.catalog.leader_of(name, index)
        assert found is not None
        return self.node(found)

    async def known(self, name: str) -> None:
        """Wait until every node knows the queue, and each partition is served by its leader."""

        def is_known() -> bool:
            if not all(name in node.queues.catalog.queues for node in self.living):
                return False
            topic = self.living[0].broker.catalog.topics.get(name)
            return topic is not None and all(
                self.leader(name, index).partition_of(name, index) is not None
                for index in range(topic.partitions)
            )

        await eventually(is_known)

    async def kill(self, number: int) -> None:
        """The node is gone, with what it had not made durable."""
        await self.node(number).crash()
        del self.nodes.live[number]

    async def elect_all(self, name: str, index: int, leader: int, **fields: Any) -> None:
        """Let the node lead a partition of the queue, and its companion."""
        await self.elect_of((name, queue_state_topic(name)), index, leader, **fields)

    async def elect_of(self, names: Sequence[str], index: int, leader: int, **fields: Any) -> None:
        catalog = self.node(leader).broker.catalog
        for topic_name in names:
            topic = catalog.topics.get(topic_name)
            if topic is None:
                continue
            is_done = False
            while not is_done:
                # A leader may change its in-sync set at the same time.
                is_done = await self._elect(partition_key(topic.id, index), leader, fields)

    async def _elect(self, key: str, leader: int, fields: dict[str, Any]) -> bool:
        entry = await self.store.get(key)
        assert entry is not None
        state = decode_state(entry).state
        state = msgspec.structs.replace(
            state,
            leader=leader,
            leader_epoch=state.leader_epoch + 1,
            broker_epoch=self.nodes.live[leader].epoch,
            **fields,
        )
        write = Put(key, encode_state(state))
        result = await self.store.transact([Compare(key, entry.mod_revision)], [write])
        return result.committed

    async def fail_over(self, name: str) -> int:
        """Kill the leader of a queue of one partition; the node that leads after it."""
        before = self.leader(name).id
        await self.kill(before)
        after = min(self.nodes.live)
        await self.elect_all(name, 0, after, in_sync=tuple(sorted(self.nodes.live)))
        await eventually(
            lambda: all(each.broker.catalog.leader_of(name, 0) == after for each in self.living)
        )
        return after


def bodies(received: list[Received]) -> list[str]:
    return [each.message.body for each in received]
