"""Topics whose partitions are on several nodes."""

import asyncio
import itertools
import uuid
from collections import Counter

import pytest
from msgspec.structs import replace
from tests.fakes.cluster_nodes import ManualClock, eventually
from tests.fakes.live_nodes import LiveNodes

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog import Catalog
from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.model.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    PolicyViolation,
    RequestTimedOut,
    TopicExists,
    UnknownTopicOrPartition,
)
from duolog.model.partition_state import NO_LEADER
from duolog.ports.metastore import Put

NODE = 1


@pytest.fixture
async def store():
    store = await SqliteStore.open(":memory:", ManualClock())
    yield store
    await store.close()


@pytest.fixture
async def nodes(store):
    nodes = LiveNodes(store)
    await nodes.register(1, 2, 3)
    return nodes


@pytest.fixture
async def new_catalog(store, nodes):
    made = []
    numbers = itertools.count(1)

    async def make(node=NODE, default_factor=3) -> Catalog:
        catalog = Catalog(
            store,
            node,
            new_id=lambda: uuid.UUID(int=next(numbers)),
            nodes=nodes,
            default_factor=default_factor,
        )
        await catalog.start()
        made.append(catalog)
        return catalog

    yield make
    for catalog in made:
        await catalog.stop()


@pytest.fixture
async def catalog(new_catalog):
    return await new_catalog()


def states(catalog, topic):
    return [catalog.partition_state(topic, index) for index in range(topic.partitions)]


async def change(store, catalog, topic, index, **fields):
    """As the controller or the leader would, and seen."""
    state = replace(catalog.partition_state(topic, index), **fields)
    await store.transact([], [Put(partition_key(topic.id, index), encode_state(state))])
    await eventually(lambda: catalog.partition_state(topic, index) == state)
    return state


async def test_leaders_and_replicas_are_spread_and_begin_in_sync(catalog, nodes):
    topic = await catalog.create_topic("orders", 6, {}, replication_factor=2)
    for state in states(catalog, topic):
        assert state.leader == state.replicas[0]
        assert len(set(state.replicas)) == 2
        assert state.in_sync == state.replicas
        assert state.broker_epoch == nodes.live[state.leader].epoch
    assert Counter(state.leader for state in states(catalog, topic)) == {1: 2, 2: 2, 3: 2}


async def test_the_default_factor_is_capped_by_the_live_brokers_and_a_wish_is_not(catalog, nodes):
    await nodes.lose(3)
    topic = await catalog.create_topic("modest", 1, {})
    assert len(catalog.partition_state(topic, 0).replicas) == 2
    assert topic.factor == 3
    with pytest.raises(InvalidReplicationFactor):
        await catalog.create_topic("greedy", 1, {}, replication_factor=3)
    for factor in (0, -2):
        with pytest.raises(InvalidReplicationFactor):
            await catalog.create_topic("absurd", 1, {}, replication_factor=factor)


async def test_a_wish_is_remembered_only_where_nobody_chose(catalog, nodes):
    assert (await catalog.create_topic("whole", 1, {})).factor is None
    await nodes.lose(3)
    assert (await catalog.create_topic("chosen", 1, {}, replication_factor=2)).factor is None
    assert (await catalog.create_topic("placed", 1, {}, assignment={0: [1]})).factor is None
    await catalog.create_topic("modest", 1, {})
    assert (await catalog.create_partitions("modest", 2)).factor == 3
    await catalog.forget_factor("modest")
    assert catalog.get("modest").factor is None


async def test_only_brokers_hold_partitions(catalog, nodes):
    await nodes.register(9, roles=("frontend", "controller"))
    topic = await catalog.create_topic("orders", 8, {})
    assert all(9 not in state.replicas for state in states(catalog, topic))


async def test_the_last_replicas_can_be_asynchronous(catalog):
    topic = await catalog.create_topic("orders", 3, {"async.replicas": "1"})
    for state in states(catalog, topic):
        assert state.in_sync == state.replicas[:2]
        assert state.asynchronous == state.replicas[2:]
    with pytest.raises(InvalidConfig, match=r"async\.replicas"):
        await catalog.create_topic("nobody", 1, {"async.replicas": "3"})


async def test_replicas_can_be_chosen_by_hand(catalog):
    topic = await catalog.create_topic("orders", 2, {}, assignment={1: [3, 1], 0: [2, 3]})
    assert [state.replicas for state in states(catalog, topic)] == [(2, 3), (3, 1)]
    grown = await catalog.create_partitions("orders", 3, assignment={2: [1, 2]})
    assert catalog.partition_state(grown, 2).leader == 1


@pytest.mark.parametrize(
    "assignment",
    [
        {0: [1]},
        {0: [1], 2: [2]},
        {0: [1], 1: []},
        {0: [1, 1], 1: [2, 3]},
        {0: [1], 1: [2, 3]},
        {0: [1], 1: [8]},
    ],
)
async def test_a_choice_that_cannot_be_had_is_refused(catalog, store, assignment):
    with pytest.raises(InvalidReplicaAssignment):
        await catalog.create_topic("orders", 2, {}, assignment=assignment)
    assert not catalog.topics


async def test_a_topic_does_not_grow_with_fewer_replicas_than_it_has(catalog, nodes):
    await catalog.create_topic("orders", 1, {}, replication_factor=3)
    await nodes.lose(3)
    with pytest.raises(InvalidReplicationFactor, match="2 are alive"):
        await catalog.create_partitions("orders", 2)


async def test_a_topic_grows_with_as_many_replicas_as_it_has(catalog):
    await catalog.create_topic("orders", 1, {}, replication_factor=2)
    grown = await catalog.create_partitions("orders", 7)
    assert {len(state.replicas) for state in states(catalog, grown)} == {2}
    leaders = Counter(state.leader for state in states(catalog, grown))
    assert max(leaders.values()) - min(leaders.values()) <= 1
    with pytest.raises(InvalidReplicaAssignment):
        await catalog.create_partitions("orders", 8, assignment={7: [1, 2, 3]})


async def test_no_partition_begins_on_a_node_that_registered_anew_unseen(catalog, nodes, store):
    seen = nodes.live[2]
    anew = await nodes.register_unseen(2)

    async def notice():
        await asyncio.sleep(0.02)
        nodes.live[2] = anew

    noticing = asyncio.create_task(notice())
    topic = await catalog.create_topic("orders", 3, {})
    await noticing
    (led,) = [state for state in states(catalog, topic) if state.leader == 2]
    assert led.broker_epoch == anew.epoch != seen.epoch


async def test_a_node_that_is_gone_unseen_for_long_leaves_the_topic_unmade(
    catalog, nodes, store, monkeypatch
):
    monkeypatch.setattr("duolog.broker.catalog._ATTEMPT_S", 0)
    alive = nodes.live[2]
    await nodes.lose(2)
    nodes.live[2] = alive
    with pytest.raises(RequestTimedOut):
        await catalog.create_topic("orders", 3, {})
    assert not catalog.topics


async def test_room_is_asked_for_this_nodes_share_only(new_catalog):
    catalog = await new_catalog(default_factor=1)
    asked = []
    catalog.check_room = lambda topic, partitions: asked.append((topic, partitions))
    await catalog.create_topic("orders", 6, {})
    assert asked == [("orders", 2)]

    def refuse(topic, partitions):
        raise PolicyViolation("no room")

    catalog.check_room = refuse
    await catalog.create_topic("elsewhere", 1, {}, assignment={0: [2]})
    with pytest.raises(PolicyViolation):
        await catalog.create_topic("here", 1, {}, assignment={0: [NODE]})


async def test_a_journal_lies_beside_its_topic_whatever_has_become_of_that(catalog, store):
    data = await catalog.create_topic("orders", 3, {})
    before = {"incomplete": (1,), "unclean_epoch": 4}
    await change(
        store, catalog, data, 0, leader=2, leader_epoch=4, in_sync=(2,), eligible=(1,), **before
    )
    await change(store, catalog, data, 1, leader=NO_LEADER, leader_epoch=5, in_sync=(3,))
    journal = await catalog.create_topic("__queue.orders", 3, {}, beside="orders")
    assert journal.beside == data.id
    for index in range(3):
        of_data = catalog.partition_state(data, index)
        beside = catalog.partition_state(journal, index)
        assert beside.replicas == of_data.replicas
        assert (beside.leader, beside.in_sync) == (of_data.leader, of_data.in_sync)
        assert beside.eligible == of_data.eligible, "nothing was written that it could lack"
        assert (beside.leader_epoch, beside.incomplete, beside.is_unclean) == (0, (), False)


async def test_a_journal_grows_after_its_topic_and_stays_beside_it(catalog):
    await catalog.create_topic("orders", 1, {}, replication_factor=2)
    await catalog.create_topic("__queue.orders", 1, {}, beside="orders")
    with pytest.raises(InvalidPartitions):
        await catalog.create_partitions("__queue.orders", 5)
    data = await catalog.create_partitions("orders", 5)
    journal = await catalog.create_partitions("__queue.orders", 5)
    assert journal.beside == data.id
    assert [state.replicas for state in states(catalog, journal)] == [
        state.replicas for state in states(catalog, data)
    ]
    edited = await catalog.edit_config("__queue.orders", lambda _: {"retention.ms": "5"})
    assert edited.beside == data.id


async def test_a_wide_journal_takes_more_transactions_than_one(catalog):
    data = await catalog.create_topic("orders", 300, {})
    journal = await catalog.create_topic("__queue.orders", 300, {}, beside="orders")
    assert [state.leader for state in states(catalog, journal)] == [
        state.leader for state in states(catalog, data)
    ]


async def test_nothing_lies_beside_a_topic_that_is_not_there(catalog):
    with pytest.raises(UnknownTopicOrPartition):
        await catalog.create_topic("__queue.orders", 1, {}, beside="orders")


async def test_any_node_says_who_leads(new_catalog, store):
    here, there = await new_catalog(1), await new_catalog(2)
    topic = await here.create_topic("orders", 1, {}, assignment={0: [2, 1]})
    await eventually(lambda: "orders" in there.topics)
    assert [each.leader_of("orders", 0) for each in (here, there)] == [2, 2]
    revision = here.states_revision(topic)
    await change(store, here, topic, 0, leader=NO_LEADER)
    assert here.leader_of("orders", 0) is None
    assert here.states_revision(topic) > revision


async def test_who_is_told_that_a_topic_exists_can_use_it_at_once(new_catalog):
    here, there = await new_catalog(1), await new_catalog(2)
    made = await here.create_topic("orders", 1, {})
    with pytest.raises(TopicExists):
        await there.create_topic("orders", 1, {})
    assert there.get("orders").id == made.id


async def test_a_controller_removes_only_orphans_that_it_saw_before(new_catalog, store):
    catalog = await new_catalog()
    state = b'{"leader":1,"leader_epoch":0,"replicas":[1],"in_sync":[1]}'
    old, young = (partition_key(uuid.UUID(int=number), 0) for number in (98, 99))
    await store.transact([], [Put(old, state)])
    await eventually(lambda: old in catalog.orphans())
    seen = dict(catalog.orphans())
    await store.transact([], [Put(young, state)])
    await eventually(lambda: young in catalog.orphans())
    await catalog.remove_orphans(seen)
    keys = [entry.key for entry in (await store.range("catalog/partitions/")).entries]
    assert keys == [young]
