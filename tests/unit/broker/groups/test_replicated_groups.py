"""Groups on brokers that copy from each other, over a real offsets topic."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.fakes.cluster_nodes import ManualClock
from tests.fakes.replicas import House, eventually

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.core.groups.ledger import TopicPartition
from duolog.core.groups.messages import CommitRequest, MemberIdentity, OffsetToCommit
from duolog.model.errors import CoordinatorLoading, NotCoordinator, Refusal
from duolog.model.names import OFFSETS_TOPIC

AT = TopicPartition("t", 0)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    store = await SqliteStore.open(":memory:", ManualClock())
    house = House(store)
    await house.start(1, 2, 3)
    for node in (1, 2, 3):
        broker = house[node].broker
        broker.leadership.append(broker.groups)
        await broker.groups.start(broker.catalog.topics)
    await house.create((1, 2, 3))
    await house.create((1, 2, 3), OFFSETS_TOPIC, cleanup_policy="compact", min_insync_replicas="2")
    await eventually(lambda: offset_of(house, 1) is None)
    yield house
    for node in (1, 2, 3):
        groups = house[node].broker.groups
        for partition in list(groups._shards):
            groups.end(partition)
    await house.stop()
    await store.close()


def groups_of(house: House, node: int) -> GroupCoordinator:
    return house[node].broker.groups


async def commit(house: House, node: int, offset: int) -> None:
    request = CommitRequest(MemberIdentity(""), -1, {AT: OffsetToCommit(offset)})
    async with asyncio.timeout(20):
        await groups_of(house, node).commit("g", request)


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
