"""Several nodes' memberships and controllers over one store in memory."""

import asyncio
import itertools
import uuid
from collections.abc import Awaitable, Callable, Iterable

from tests.fakes.cluster_nodes import ManualClock, eventually, registration

from duolog.broker.catalog import Catalog
from duolog.broker.catalog_entries import decode_state, partition_key
from duolog.broker.controller.controller import Controller
from duolog.broker.controller.event_log import EventLog, read_events
from duolog.broker.controller.requests import Requests
from duolog.broker.controller.survey import Ends, Wanted
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.entries import decode_record, encode, node_key, statement_key
from duolog.broker.membership.membership import Membership
from duolog.model.log_end import LogEnd
from duolog.model.partition_state import PartitionState
from duolog.model.statement import Statement
from duolog.ports.metastore import MetaStore, Put


class ToldEnds:
    """Implements Surveyor: every node answers, but for those that are `silent`."""

    def __init__(self) -> None:
        self.ends: dict[int, LogEnd] = {}
        """Where the logs of a node end; others are empty."""
        self.silent: set[int] = set()

    async def ask(self, wanted: Wanted) -> Ends:
        await asyncio.sleep(0)
        return {
            partition: {
                live.id: self.ends.get(live.id, LogEnd(0, 0))
                for live in nodes
                if live.id not in self.silent
            }
            for partition, nodes in wanted.items()
            if any(live.id not in self.silent for live in nodes)
        }


class BenchNode:
    def __init__(self, bench: "ClusterBench", node: int, **changes: object) -> None:
        store, clock = bench.store, bench.clock
        self.id = node
        self.membership = Membership(store, clock, registration(node, **changes))
        self.cluster = ClusterView(store)
        self.catalog = Catalog(store, node, new_id=bench.new_id, nodes=self.cluster)
        survey = bench.survey
        self.controller = Controller(
            store, clock, self.membership, self.cluster, survey, topic_defaults={}
        )
        self.events = EventLog(store, node)
        """Those of its operators' requests."""
        self.requests = Requests(store, clock, self.catalog, self.cluster, self.events, survey)

    async def start(self) -> None:
        await self.cluster.start()
        await self.catalog.start()
        await self.membership.register()
        await self.controller.start()

    async def stop(self) -> None:
        await self.controller.stop()
        await self.catalog.stop()
        await self.cluster.stop()


class ClusterBench:
    def __init__(self, store: MetaStore, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.nodes: dict[int, BenchNode] = {}
        self.survey = ToldEnds()
        numbers = itertools.count(1)
        self.new_id = lambda: uuid.UUID(int=next(numbers))

    async def start(self, *nodes: int, **changes: object) -> None:
        for node in nodes:
            await self.begin(node, **changes)
        await eventually(lambda: self.controller is not None)
        for node in nodes:
            await self.judged(node)

    async def begin(self, node: int, **changes: object) -> None:
        """Without waiting for the controller."""
        self.nodes[node] = BenchNode(self, node, **changes)
        await self.nodes[node].start()

    async def kill(self, node: int) -> None:
        """The process ends, and so does its lease: at once, to save the test the time."""
        gone = self.nodes.pop(node)
        await gone.stop()
        assert gone.membership.lease is not None
        await self.store.revoke_lease(gone.membership.lease)

    async def stop(self) -> None:
        for node in self.nodes.values():
            await node.stop()

    async def cut_off(self, node: int) -> None:
        """The others state that they cannot reach the node, as after two seconds of silence."""
        for other in self.nodes:
            if other != node:
                membership = self.nodes[other].membership
                said = Statement(other, membership.epoch, unreachable=(node,))
                put = Put(statement_key(other), encode(said), membership.lease)
                await self.store.transact([], [put])

    @property
    def controller(self) -> BenchNode | None:
        ruling = [node for node in self.nodes.values() if node.controller.term is not None]
        return ruling[0] if len(ruling) == 1 else None

    async def judged(self, node: int) -> None:
        """Wait until the controller has taken in the node's registration."""
        epoch = self.nodes[node].membership.epoch

        async def is_judged() -> bool:
            entry = await self.store.get(node_key(node))
            return entry is not None and decode_record(entry).epoch == epoch

        await self.until(is_judged)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(20):
            while not await holds():
                await asyncio.sleep(0.002)

    async def state(self, topic_id: uuid.UUID, index: int = 0) -> PartitionState:
        entry = await self.store.get(partition_key(topic_id, index))
        assert entry is not None
        return decode_state(entry).state

    async def until_state(
        self, topic_id: uuid.UUID, holds: Callable[[PartitionState], bool], index: int = 0
    ) -> PartitionState:
        async def is_so() -> bool:
            return holds(await self.state(topic_id, index))

        await self.until(is_so)
        return await self.state(topic_id, index)

    async def event_kinds(self) -> list[str]:
        return [event.kind for event in await read_events(self.store)]

    def any_of(self, nodes: Iterable[int]) -> BenchNode:
        return next(self.nodes[node] for node in nodes if node in self.nodes)
