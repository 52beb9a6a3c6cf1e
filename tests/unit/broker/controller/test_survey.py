"""Elections that ask the nodes where their logs end."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.fakes.cluster_bench import ClusterBench
from tests.fakes.cluster_nodes import ManualClock, eventually, live_node
from tests.fakes.group_shell import SetClock
from tests.fakes.replicas import House, write
from tests.fakes.replicas import eventually as before_long

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.controller import survey
from duolog.broker.controller.survey import PeerSurveyor
from duolog.broker.replication.log_ends import LogEnds
from duolog.core.controller.image import PartitionId
from duolog.model.log_end import LogEnd
from duolog.model.partition_state import NO_LEADER
from duolog.peer_api.handlers.log_ends import LogEndsHandler
from duolog.ports.metastore import Put
from duolog.ports.peers import Caller, PeerUnreachable


@pytest.fixture
async def bench():
    clock = ManualClock()
    store = await SqliteStore.open(":memory:", clock)
    bench = ClusterBench(store, clock)
    await bench.start(1, 2, 3)
    yield bench
    await bench.stop()
    await store.close()


async def topic_that_nobody_may_lead(bench: ClusterBench) -> uuid.UUID:
    catalog = bench.nodes[1].catalog
    await eventually(lambda: len(bench.nodes[1].cluster.live) == 3)
    topic = await catalog.create_topic(
        "orders",
        1,
        {"unclean.leader.election.enable": "true"},
        assignment={0: (1, 2, 3)},
    )
    state = msgspec.structs.replace(
        await bench.state(topic.id),
        leader=NO_LEADER,
        leader_epoch=1,
        broker_epoch=0,
        in_sync=(),
        incomplete=(1,),
    )
    await bench.store.transact([], [Put(partition_key(topic.id, 0), encode_state(state))])
    return topic.id


async def test_a_topic_that_allows_it_goes_on_with_the_longest_log(bench: ClusterBench) -> None:
    bench.survey.ends = {1: LogEnd(0, 200), 2: LogEnd(0, 6_000), 3: LogEnd(0, 200)}
    topic = await topic_that_nobody_may_lead(bench)
    state = await bench.until_state(topic, lambda state: state.leader != NO_LEADER)
    assert (state.leader, state.in_sync, state.is_unclean) == (2, (2,), True)


async def test_an_unclean_election_holds_up_no_other(bench: ClusterBench) -> None:
    asked = asyncio.Event()

    async def ask(wanted: survey.Wanted) -> survey.Ends:
        asked.set()
        await asyncio.Event().wait()
        return {}

    bench.survey.ask = ask
    await topic_that_nobody_may_lead(bench)
    await asked.wait()
    other = await bench.nodes[1].catalog.create_topic("other", 1, {}, assignment={0: (3, 1)})
    await bench.kill(3)
    await bench.until_state(other.id, lambda state: state.leader == 1)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    store = await SqliteStore.open(":memory:", SetClock())
    house = House(store)
    yield house
    await house.stop()
    await store.close()


class HousePeers:
    """Implements Peers between the nodes of a house, for questions about logs."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.asked: list[int] = []

    async def call(
        self, node: int, kind: int, body: bytes, *, timeout_ms: int, lane: str = ""
    ) -> memoryview:
        self.asked.append(node)
        if (1, node) in self._house.cut:
            raise PeerUnreachable(node, "does not answer", was_sent=False)
        handler = LogEndsHandler(LogEnds(self._house[node].broker.routes))
        return memoryview(await handler(Caller(1, 1), memoryview(body)))


async def test_each_node_says_where_its_log_ends(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    house.isolate(2)
    for _ in range(3):
        write(house[1].partition())
    await house.elect(2)
    peers = HousePeers(house)
    house.heal()
    await before_long(lambda: house[1].partition().end_offset == 0)
    write(house[2].partition())
    await before_long(lambda: house[1].partition().end_offset == 1)
    surveyor = PeerSurveyor(1, LogEnds(house[1].broker.routes), peers)
    topic = PartitionId(house[1].broker.catalog.get("t").id, 0)
    unknown = PartitionId(uuid.UUID(int=99), 0)
    both = (live_node(1), live_node(2))
    assert await surveyor.ask({topic: both, unknown: both}) == {
        topic: {1: LogEnd(1, 1), 2: LogEnd(1, 1)}
    }
    assert peers.asked == [2], "this node asks itself without a link"


async def test_a_node_that_does_not_answer_is_left_out_in_the_end(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "WAIT_S", 0.3)
    await house.start(1, 2)
    await house.create((1, 2))
    house.isolate(2)
    peers = HousePeers(house)
    surveyor = PeerSurveyor(1, LogEnds(house[1].broker.routes), peers)
    topic = PartitionId(house[1].broker.catalog.get("t").id, 0)
    ends = await surveyor.ask({topic: (live_node(1), live_node(2))})
    assert ends == {topic: {1: LogEnd(0, 0)}}
    assert len(peers.asked) > 1, "it was asked again"
