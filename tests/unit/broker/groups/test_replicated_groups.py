"""Groups on brokers that copy from each other, over a real offsets topic."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from tests.fakes.cluster_nodes import ManualClock
from tests.fakes.group_driver import joining
from tests.fakes.replicas import House, eventually

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.core.groups.ledger import TopicPartition
from duolog.core.groups.messages import CommitRequest, JoinReply, MemberIdentity, OffsetToCommit
from duolog.core.groups.state import GroupState
from duolog.model.errors import CoordinatorLoading, NotCoordinator, NotLeader, Refusal
from duolog.model.names import OFFSETS_TOPIC
from duolog.model.partition_state import NO_LEADER

AT = TopicPartition("t", 0)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    store = await SqliteStore.open(":memory:", ManualClock())
    house = House(store)
    await house.start(1, 2, 3)
    for node in (1, 2, 3):
        broker = house[node].broker
        broker.leadership.append(broker.groups)
        broker.roles.copying.append(broker.groups)
        await broker.groups.start(broker.catalog.topics)
    await house.create((1, 2, 3))
    await house.create((1, 2, 3), OFFSETS_TOPIC, cleanup_policy="compact", min_insync_replicas="2")
    await eventually(lambda: offset_of(house, 1) is None)
    yield house
    for node in (1, 2, 3):
        groups = house[node].broker.groups
        for partition in list(groups._shards):
            groups.end(partition)
        await groups.stop()
    await house.stop()
    await store.close()


def groups_of(house: House, node: int) -> GroupCoordinator:
    return house[node].broker.groups


async def commit(house: House, node: int, offset: int, group: str = "g") -> None:
    request = CommitRequest(MemberIdentity(""), -1, {AT: OffsetToCommit(offset)})
    async with asyncio.timeout(20):
        await groups_of(house, node).commit(group, request)


def offset_of(house: House, node: int) -> int | type[Refusal] | None:
    try:
        group = groups_of(house, node).find("g")
    except Refusal as refusal:
        return type(refusal)
    return group.ledger.offsets[AT].offset if group else None


async def test_a_confirmed_commit_survives_its_coordinator(house: House) -> None:
    for offset in range(5):
        await commit(house, 1, offset)
    house.isolate(1)
    await house.elect(2, OFFSETS_TOPIC, in_sync=(2, 3))
    await eventually(lambda: offset_of(house, 2) == 4)
    await commit(house, 2, 5)
    await eventually(lambda: offset_of(house, 1) is NotCoordinator)
    assert offset_of(house, 3) is NotCoordinator


async def test_an_unconfirmed_commit_is_refused_and_counts_for_nobody(house: House) -> None:
    await commit(house, 1, 1)
    house.isolate(1)
    lost = asyncio.create_task(commit(house, 1, 2))
    await asyncio.sleep(0.02)
    assert not lost.done()
    await house.elect(2, OFFSETS_TOPIC, in_sync=(2, 3))
    with pytest.raises(NotCoordinator):
        await lost
    await eventually(lambda: offset_of(house, 2) == 1)
    house.heal()
    await commit(house, 2, 7)
    catalog = house[1].broker.catalog
    topic = catalog.get(OFFSETS_TOPIC)
    await eventually(lambda: 1 in catalog.partition_state(topic, 0).in_sync)
    await house.elect(1, OFFSETS_TOPIC)
    await eventually(lambda: offset_of(house, 1) == 7)


async def test_a_new_coordinator_waits_until_what_it_has_read_cannot_be_lost(house: House) -> None:
    await commit(house, 1, 1)
    house.isolate(3)
    unknown = asyncio.create_task(commit(house, 1, 2))
    await eventually(lambda: house[2].partition(OFFSETS_TOPIC).log.end_offset == 2)
    await house.elect(2, OFFSETS_TOPIC, in_sync=(2, 3))
    with pytest.raises(NotCoordinator):
        await unknown
    await asyncio.sleep(0.05)
    assert offset_of(house, 2) is CoordinatorLoading
    house.heal()
    await eventually(lambda: offset_of(house, 2) == 2)


async def waiting_member(house: House) -> asyncio.Task[JoinReply]:
    """A member that waits in a rebalance for one that does not come."""
    groups = groups_of(house, 1)
    first = asyncio.create_task(groups.join("g", joining(fresh_member_id="a")))
    await asyncio.sleep(0.01)
    house.clock.at_ms += 200
    groups.tick()
    await first
    second = asyncio.create_task(groups.join("g", joining(fresh_member_id="b")))
    await asyncio.sleep(0.01)
    assert not second.done()
    return second


async def end(waiting: asyncio.Task[JoinReply]) -> None:
    waiting.cancel()
    await asyncio.wait({waiting})


async def elect_again(house: House) -> None:
    await house.elect(1, OFFSETS_TOPIC)


async def elect_after_nobody(house: House) -> None:
    await house.elect(NO_LEADER, OFFSETS_TOPIC)
    partition = house[1].partition(OFFSETS_TOPIC)
    await eventually(lambda: partition.leader == NO_LEADER)
    with pytest.raises(NotCoordinator):
        groups_of(house, 1).find("g")
    await house.elect(1, OFFSETS_TOPIC)


async def elect_after_a_new_registration(house: House) -> None:
    house[1].broker.suspend(NotLeader("the lease has ended"))
    groups_of(house, 1).tick()
    house[1].broker.registered(await house.register(1))
    house[1].broker.resume()
    with pytest.raises(NotCoordinator):
        groups_of(house, 1).find("g")
    await house.elect(1, OFFSETS_TOPIC)


@pytest.mark.parametrize("again", [elect_again, elect_after_nobody, elect_after_a_new_registration])
async def test_an_epoch_without_another_leader_closes_nothing(
    house: House, again: Callable[[House], Awaitable[None]]
) -> None:
    waiting = await waiting_member(house)
    await again(house)
    await commit(house, 1, 2, "h")
    assert groups_of(house, 1).get("h").ledger.offsets[AT].offset == 2
    assert not waiting.done()
    assert groups_of(house, 1).get("g").state is GroupState.PREPARING_REBALANCE
    await end(waiting)


async def test_members_get_a_full_session_once_they_can_be_heard_again(house: House) -> None:
    waiting = await waiting_member(house)
    house[1].broker.suspend(NotLeader("the lease has ended"))
    house.clock.at_ms += 30_000
    groups_of(house, 1).tick()
    house[1].broker.resume()
    groups_of(house, 1).tick()
    assert len(groups_of(house, 1).get("g").describe_members()) == 2
    await end(waiting)


async def test_those_who_wait_are_sent_on_once_another_node_leads(house: House) -> None:
    waiting = await waiting_member(house)
    await house.elect(NO_LEADER, OFFSETS_TOPIC)
    await house.elect(2, OFFSETS_TOPIC)
    with pytest.raises(NotCoordinator):
        async with asyncio.timeout(10):
            await waiting


async def test_a_commit_of_several_batches_survives_an_epoch_in_its_midst(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.groups.offset_store.APPEND_BYTES_MAX", 1)
    waiting = await waiting_member(house)
    house.isolate(1)
    offsets = {TopicPartition("t", index): OffsetToCommit(index) for index in range(3)}
    writing = asyncio.create_task(
        groups_of(house, 1).commit("h", CommitRequest(MemberIdentity(""), -1, offsets))
    )
    await asyncio.sleep(0.01)
    assert not writing.done()
    await house.elect(1, OFFSETS_TOPIC)
    house.heal()
    async with asyncio.timeout(20):
        assert not (await writing).refused
    assert not waiting.done()
    await end(waiting)


async def test_a_follower_reads_ahead_and_goes_on_from_there(house: House) -> None:
    for offset in range(5):
        await commit(house, 1, offset)
    groups = groups_of(house, 2)
    (stored,) = groups._store.held()
    await eventually(lambda: stored.settled_offset == 5)
    groups._read_ahead._read_cost_ns = 1
    await groups._read_ahead.look()
    newest = groups._kept.of(stored).newest
    assert newest is not None
    assert newest.offset == 5
    await house.elect(2, OFFSETS_TOPIC)
    await eventually(lambda: offset_of(house, 2) == 4)
    assert groups._kept.of(stored).newest is newest


async def test_a_copy_that_is_not_in_sync_is_not_read_ahead(house: House) -> None:
    house.isolate(3)
    await house.change(OFFSETS_TOPIC, in_sync=(1, 2))
    for node, is_in_sync in ((2, True), (3, False)):
        (stored,) = groups_of(house, node)._store.held()
        await eventually(lambda stored=stored, wanted=is_in_sync: stored.is_in_sync == wanted)
