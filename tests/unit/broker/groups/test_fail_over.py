"""Two nodes over one replicated store: what the first has confirmed, the second knows."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
from tests.fakes.group_driver import joining
from tests.fakes.group_shell import MemoryOffsetStore, SetClock, numbered_ids, pass_ms, settle

from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import Tenure
from duolog.core.groups.ledger import TopicPartition
from duolog.core.groups.messages import (
    CommitRequest,
    JoinReply,
    MemberIdentity,
    OffsetToCommit,
    SyncRequest,
)
from duolog.core.groups.placement import partition_for
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import GroupState
from duolog.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    GroupIdNotFound,
    NotCoordinator,
    RebalanceInProgress,
    UnknownMember,
)

PARTITIONS = 2
GROUP = "g"
OTHER_GROUP = "h"
PARTITION = partition_for(GROUP, PARTITIONS)
OTHER = partition_for(OTHER_GROUP, PARTITIONS)
AT = TopicPartition("t", 0)


class Pair(NamedTuple):
    first: GroupCoordinator
    second: GroupCoordinator
    store: MemoryOffsetStore
    clock: SetClock

    def fail_over(self) -> None:
        self.depose()
        self.second.begin(Tenure(PARTITION, self.store.epochs[PARTITION]))

    def depose(self) -> None:
        """The next epoch begins, and the first node has learned of it."""
        self.elect()
        self.first.end(PARTITION)

    def elect(self) -> None:
        self.store.epochs[PARTITION] = self.store.epochs.get(PARTITION, 0) + 1


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    assert PARTITION != OTHER
    store, clock = MemoryOffsetStore(PARTITIONS), SetClock()
    store.is_replicated = True
    coordinators = []
    for _ in range(2):
        coordinator = GroupCoordinator(clock, store, GroupSettings(), new_id=numbered_ids())
        await coordinator.start({"t"})
        coordinators.append(coordinator)
    pair = Pair(coordinators[0], coordinators[1], store, clock)
    pair.first.begin(Tenure(PARTITION, 0))
    pair.second.begin(Tenure(OTHER, 0))
    await settle()
    yield pair
    for coordinator in coordinators:
        await coordinator.stop()


def commit_of(offset: int, who: str = "", generation: int = -1) -> CommitRequest:
    return CommitRequest(MemberIdentity(who), generation, {AT: OffsetToCommit(offset)})


async def stable_member(pair: Pair) -> JoinReply:
    fresh = pair.first.fresh_member_id("client", None)
    join = asyncio.create_task(pair.first.join(GROUP, joining(fresh_member_id=fresh)))
    await settle()
    await pass_ms(pair.first, pair.clock, 100)
    reply = await join
    sync = SyncRequest(
        MemberIdentity(reply.member_id), reply.generation, None, None, {reply.member_id: b"all"}
    )
    await pair.first.sync(GROUP, sync)
    return reply


def offset_of(coordinator: GroupCoordinator, group_id: str = GROUP) -> int:
    return coordinator.get(group_id).ledger.offsets[AT].offset


async def test_members_and_offsets_go_on_at_the_next_coordinator(pair: Pair) -> None:
    member = await stable_member(pair)
    await pair.first.commit(GROUP, commit_of(7, member.member_id, member.generation))
    pair.fail_over()
    await settle()
    assert offset_of(pair.second) == 7
    pair.second.heartbeat(GROUP, MemberIdentity(member.member_id), member.generation)
    await pair.second.commit(GROUP, commit_of(8, member.member_id, member.generation))
    (described,) = pair.second.get(GROUP).describe_members()
    assert (described.id, described.assignment) == (member.member_id, b"all")
    with pytest.raises(UnknownMember):
        pair.second.heartbeat(GROUP, MemberIdentity("somebody"), member.generation)


async def test_a_group_is_served_by_the_leader_of_its_partition_alone(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(1))
    await pair.second.commit(OTHER_GROUP, commit_of(2))
    for ask in (pair.second.find, pair.second.get):
        with pytest.raises(NotCoordinator):
            ask(GROUP)
    with pytest.raises(NotCoordinator):
        await pair.second.commit(GROUP, commit_of(3))
    with pytest.raises(NotCoordinator):
        await pair.second.join(GROUP, joining())
    with pytest.raises(NotCoordinator):
        await pair.second.delete(GROUP)
    with pytest.raises(NotCoordinator):
        pair.second.leave(GROUP, [MemberIdentity("m")])
    assert [group.id for group in pair.first.groups] == [GROUP]
    assert [group.id for group in pair.second.groups] == [OTHER_GROUP]


async def test_nothing_is_served_while_it_is_read(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(5))
    pair.store.hold()
    pair.fail_over()
    await settle()
    with pytest.raises(CoordinatorLoading):
        pair.second.find(GROUP)
    with pytest.raises(CoordinatorLoading):
        _ = pair.second.groups
    assert pair.second.find(OTHER_GROUP) is None
    pair.store.release()
    await settle()
    assert offset_of(pair.second) == 5


async def test_those_who_wait_are_sent_on(pair: Pair) -> None:
    join = asyncio.create_task(pair.first.join(GROUP, joining(fresh_member_id="m")))
    await settle()
    pair.fail_over()
    with pytest.raises(NotCoordinator):
        await join
    with pytest.raises(NotCoordinator):
        pair.first.find(GROUP)


async def test_a_commit_that_was_not_confirmed_is_not_reported_as_done(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(1))
    pair.store.hold()
    commit = asyncio.create_task(pair.first.commit(GROUP, commit_of(2)))
    await settle()
    pair.fail_over()
    with pytest.raises(NotCoordinator):
        await commit
    pair.store.release()
    await settle()
    assert offset_of(pair.second) == 1


async def test_a_read_that_a_newer_epoch_overtakes_is_abandoned(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(1))
    pair.store.hold()
    pair.fail_over()
    await settle()
    pair.elect()
    pair.second.begin(Tenure(PARTITION, 2))
    await settle()
    pair.store.release()
    await settle()
    assert offset_of(pair.second) == 1
    assert pair.second._shards[PARTITION].tenure == Tenure(PARTITION, 2)
    pair.elect()
    pair.second.end(PARTITION)
    with pytest.raises(NotCoordinator):
        pair.second.find(GROUP)


async def test_an_epoch_without_another_leader_in_between_closes_nothing(pair: Pair) -> None:
    member = await stable_member(pair)
    await pair.first.commit(GROUP, commit_of(1, member.member_id, member.generation))
    join = asyncio.create_task(pair.first.join(GROUP, joining(fresh_member_id="m")))
    await settle()
    pair.elect()
    pair.first.begin(Tenure(PARTITION, 1))
    await settle()
    assert not join.done()
    # The rebalance goes on where it was.
    with pytest.raises(RebalanceInProgress):
        pair.first.heartbeat(GROUP, MemberIdentity(member.member_id), member.generation)
    await pair.first.commit(GROUP, commit_of(2, member.member_id, member.generation))
    assert offset_of(pair.first) == 2
    join.cancel()


async def test_a_leader_that_is_elected_after_another_reads_anew(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(1))
    join = asyncio.create_task(pair.first.join(GROUP, joining(fresh_member_id="m")))
    await settle()
    pair.elect()
    pair.elect()
    pair.first.begin(Tenure(PARTITION, 2))
    with pytest.raises(NotCoordinator):
        await join
    await settle()
    assert offset_of(pair.first) == 1
    assert pair.first.get(GROUP).state is GroupState.EMPTY
    await pair.first.commit(GROUP, commit_of(2))


async def test_a_node_that_may_not_lead_any_more_answers_nothing(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(1))
    pair.elect()
    with pytest.raises(NotCoordinator):
        pair.first.find(GROUP)
    with pytest.raises(CoordinatorNotAvailable):
        _ = pair.first.groups


async def test_after_a_doubt_the_log_says_what_has_happened(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(1))
    pair.store.loses_answers = True
    with pytest.raises(NotCoordinator):
        await pair.first.commit(GROUP, commit_of(2))
    pair.store.loses_answers = False
    await settle()
    assert offset_of(pair.first) == 2
    await pair.first.commit(GROUP, commit_of(3))
    assert offset_of(pair.first) == 3


async def test_reading_is_tried_until_the_doubt_is_over(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.groups.shard.RELOAD_S", 0)
    await pair.first.commit(GROUP, commit_of(1))
    nobody_leads = -1
    pair.store.epochs[PARTITION] = nobody_leads
    pair.first.begin(Tenure(PARTITION, 0))
    await settle()
    with pytest.raises(CoordinatorLoading):
        pair.first.find(GROUP)
    del pair.store.epochs[PARTITION]
    await settle()
    assert offset_of(pair.first) == 1


async def test_a_topic_that_went_while_nobody_led_is_forgotten(pair: Pair) -> None:
    await pair.first.commit(
        GROUP,
        CommitRequest(MemberIdentity(""), -1, {TopicPartition("gone", 0): OffsetToCommit(4)}),
    )
    pair.fail_over()
    await settle()
    with pytest.raises(GroupIdNotFound):
        pair.second.get(GROUP)


async def test_a_deleted_group_stays_deleted(pair: Pair) -> None:
    await pair.first.commit(GROUP, commit_of(1))
    await pair.first.delete(GROUP)
    pair.fail_over()
    await settle()
    assert pair.second.find(GROUP) is None


async def test_a_stop_does_not_wait_for_nodes_that_do_not_come_back(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.groups.coordinator.STOP_S_MAX", 0.01)
    pair.store.hold()
    commit = asyncio.create_task(pair.first.commit(GROUP, commit_of(1)))
    await settle()
    await pair.first.stop()
    with pytest.raises(CoordinatorNotAvailable):
        await commit
    pair.store.release()
