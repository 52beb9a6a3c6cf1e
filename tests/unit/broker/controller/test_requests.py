import asyncio
import uuid

import msgspec
import pytest
from tests.fakes.cluster_bench import ClusterBench
from tests.fakes.cluster_nodes import ManualClock, eventually

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.controller.event_log import read_events
from duolog.model.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidReplicaAssignment,
    InvalidRequest,
    NoReassignmentInProgress,
    PreferredLeaderNotAvailable,
)
from duolog.model.log_end import LogEnd
from duolog.model.partition_state import NO_LEADER
from duolog.ports.metastore import Put


@pytest.fixture
async def bench():
    clock = ManualClock()
    store = await SqliteStore.open(":memory:", clock)
    bench = ClusterBench(store, clock)
    await bench.start(1, 2, 3, 4)
    for node in bench.nodes.values():
        await eventually(lambda node=node: len(node.cluster.live) == 4)
    yield bench
    await bench.stop()
    await store.close()


async def topic_on(bench: ClusterBench, *replicas: int, beside: str | None = None) -> uuid.UUID:
    catalog = bench.any_of((4, 3, 2, 1)).catalog
    if beside is not None:
        return (await catalog.create_topic(f"__queue.{beside}", 1, {}, beside=beside)).id
    return (await catalog.create_topic("orders", 1, {}, assignment={0: replicas})).id


async def caught_up(bench: ClusterBench, topic: uuid.UUID, *nodes: int) -> None:
    """As its leader would say of followers that have everything."""
    state = await bench.state(topic)
    in_sync = tuple(dict.fromkeys((*state.in_sync, *nodes)))
    value = encode_state(msgspec.structs.replace(state, in_sync=in_sync))
    await bench.store.transact([], [Put(partition_key(topic, 0), value)])


async def test_a_partition_is_brought_to_other_nodes(bench) -> None:
    topic = await topic_on(bench, 1, 2)
    await bench.nodes[3].requests.request_reassignment("orders", 0, (3, 4))
    state = await bench.state(topic)
    assert (state.leader, state.adding, state.removing) == (1, (3, 4), (1, 2))
    await caught_up(bench, topic, 3, 4)
    state = await bench.until_state(topic, lambda state: not state.adding)
    assert (state.replicas, state.in_sync, state.leader) == ((3, 4), (3, 4), 3)


async def test_companions_are_brought_along(bench) -> None:
    topic = await topic_on(bench, 1, 2)
    journal = await topic_on(bench, beside="orders")
    requests = bench.nodes[4].requests
    await requests.request_reassignment("orders", 0, (3, 2))
    assert (await bench.state(journal)).adding == (3,)
    await caught_up(bench, topic, 3)
    await asyncio.sleep(0.05)
    assert (await bench.state(topic)).adding == (3,), "the journal is not there yet"
    await caught_up(bench, journal, 3)
    for each in (topic, journal):
        state = await bench.until_state(each, lambda state: not state.adding)
        assert (state.replicas, state.leader) == ((3, 2), 3)
    with pytest.raises(InvalidReplicaAssignment, match="moves with it"):
        await requests.request_reassignment("__queue.orders", 0, (1, 2))


async def test_a_reassignment_can_be_taken_back(bench) -> None:
    topic = await topic_on(bench, 1, 2)
    requests = bench.nodes[4].requests
    await requests.request_reassignment("orders", 0, (3, 4))
    await requests.cancel_reassignment("orders", 0)
    state = await bench.state(topic)
    assert (state.replicas, state.adding, state.removing) == ((1, 2), (), ())
    with pytest.raises(NoReassignmentInProgress):
        await requests.cancel_reassignment("orders", 0)


async def test_a_target_that_is_not_alive_is_refused(bench) -> None:
    await topic_on(bench, 1, 2)
    with pytest.raises(InvalidReplicaAssignment, match="no live broker 9"):
        await bench.nodes[4].requests.request_reassignment("orders", 0, (9,))


async def test_the_preferred_leader_can_be_elected(bench) -> None:
    topic = await topic_on(bench, 1, 2)
    await bench.kill(1)
    await bench.until_state(topic, lambda state: state.leader == 2)
    requests = bench.nodes[4].requests
    await bench.start(1, incarnation="1.2")
    with pytest.raises(PreferredLeaderNotAvailable):
        await requests.elect_preferred("orders", 0)
    await caught_up(bench, topic, 1)
    catalog = bench.nodes[4].catalog
    await eventually(
        lambda: (
            1 in catalog.partition_state(catalog.get("orders"), 0).in_sync
            and bench.nodes[4].cluster.records[1].epoch == bench.nodes[1].membership.epoch
        )
    )
    await requests.elect_preferred("orders", 0)
    state = await bench.state(topic)
    assert (state.leader, state.leader_epoch) == (1, 2)
    with pytest.raises(ElectionNotNeeded):
        await requests.elect_preferred("orders", 0)


async def test_a_preferred_leader_that_the_others_cannot_reach_is_not_elected(bench) -> None:
    topic = await topic_on(bench, 1, 2, 3)
    await bench.cut_off(1)
    await bench.until_state(topic, lambda state: state.leader == 2)
    await caught_up(bench, topic, 1)
    node = bench.nodes[4]
    await eventually(
        lambda: (
            1 in node.catalog.partition_state(node.catalog.get("orders"), 0).in_sync
            and len(node.cluster.statements) == 3
        )
    )
    with pytest.raises(PreferredLeaderNotAvailable, match="node 2, 3, 4 cannot reach node 1"):
        await node.requests.elect_preferred("orders", 0)


async def test_an_operator_may_go_on_with_what_is_left(bench) -> None:
    topic = await topic_on(bench, 1, 2)
    requests = bench.nodes[4].requests
    await bench.kill(2)
    await bench.until_state(topic, lambda state: state.in_sync == (1,))
    await bench.start(2, incarnation="2.2")
    with pytest.raises(ElectionNotNeeded):
        await requests.elect_uncleanly("orders", 0)
    await bench.kill(1)
    await bench.until_state(topic, lambda state: state.leader == NO_LEADER)
    catalog = bench.nodes[4].catalog
    await eventually(
        lambda: (
            catalog.partition_state(catalog.get("orders"), 0).leader == NO_LEADER
            and 1 not in bench.nodes[4].cluster.live
        )
    )
    await requests.elect_uncleanly("orders", 0)
    assert (await bench.state(topic)).leader == 2
    await bench.kill(2)
    await bench.until_state(topic, lambda state: state.leader == NO_LEADER)
    await eventually(
        lambda: (
            catalog.partition_state(catalog.get("orders"), 0).leader == NO_LEADER
            and 2 not in bench.nodes[4].cluster.live
        )
    )
    with pytest.raises(EligibleLeadersNotAvailable):
        await requests.elect_uncleanly("orders", 0)


async def test_an_operator_goes_on_with_the_longest_log_and_leaves_no_live_one_out(bench) -> None:
    topic = await topic_on(bench, 1, 2, 3)
    nobody = await bench.state(topic)
    refused = msgspec.structs.replace(
        nobody, leader=NO_LEADER, leader_epoch=1, broker_epoch=0, in_sync=(), incomplete=(1, 2, 3)
    )
    await bench.store.transact([], [Put(partition_key(topic, 0), encode_state(refused))])
    catalog, requests = bench.nodes[4].catalog, bench.nodes[4].requests
    await eventually(lambda: catalog.partition_state(catalog.get("orders"), 0) == refused)
    bench.survey.ends = {1: LogEnd(0, 200), 3: LogEnd(0, 6_000)}
    bench.survey.silent = {3}
    with pytest.raises(EligibleLeadersNotAvailable, match="node 3 is alive and may have the long"):
        await requests.elect_uncleanly("orders", 0)
    bench.survey.silent.clear()
    await requests.elect_uncleanly("orders", 0)
    state = await bench.state(topic)
    assert (state.leader, state.in_sync, state.incomplete) == (3, (3,), ())
    assert state.is_unclean
    await bench.nodes[4].events.written()
    (event,) = [each for each in await read_events(bench.store) if "uncleanly" in each.kind]
    assert "ends at 6000; the others: node 1 at 200, node 2 at 0. An operator asked" in event.text


async def test_a_node_that_drains_is_emptied(bench) -> None:
    topic = await topic_on(bench, 1, 2, 3)
    await bench.nodes[4].requests.set_draining(1, True)
    state = await bench.until_state(topic, lambda state: state.leader == 2)
    state = await bench.until_state(topic, lambda state: state.adding == (4,))
    await caught_up(bench, topic, 4)
    state = await bench.until_state(topic, lambda state: not state.adding)
    assert (state.replicas, state.leader) == ((4, 2, 3), 2)
    with pytest.raises(InvalidRequest, match="no node 9"):
        await bench.nodes[4].requests.set_draining(9, True)
