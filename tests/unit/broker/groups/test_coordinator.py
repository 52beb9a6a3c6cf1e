import asyncio

import pytest
from tests.fakes.group_driver import joining
from tests.fakes.group_shell import (
    MemoryOffsetStore,
    SetClock,
    new_coordinator,
    pass_ms,
    settle,
)

from duolog.broker.admission import TURN_NS
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.core.groups.formats import decode
from duolog.core.groups.ledger import OffsetForgotten, TopicPartition
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
    InconsistentGroupProtocol,
    InvalidGroupId,
    MemberIdRequired,
    PolicyViolation,
    UnknownMember,
)
from duolog.model.limits import REBALANCE_AWAITED_MS_MAX

TOPICS = {"t", "u"}
DAY_MS = 24 * 3600 * 1000


def commit_of(offset: int, topic: str = "t", who: str = "", generation: int = -1) -> CommitRequest:
    at = TopicPartition(topic, 0)
    return CommitRequest(MemberIdentity(who), generation, {at: OffsetToCommit(offset)})


def offset_of(coordinator: GroupCoordinator, group_id: str, topic: str = "t") -> int | None:
    group = coordinator.find(group_id)
    committed = group.ledger.offsets.get(TopicPartition(topic, 0)) if group else None
    return committed.offset if committed else None


async def stable_member(coordinator: GroupCoordinator, clock: SetClock) -> JoinReply:
    fresh = coordinator.fresh_member_id("client", None)
    join = asyncio.create_task(coordinator.join("g", joining(fresh_member_id=fresh)))
    await settle()
    await pass_ms(coordinator, clock, 100)
    reply = await join
    sync = SyncRequest(
        MemberIdentity(reply.member_id), reply.generation, None, None, {reply.member_id: b"all"}
    )
    assert (await coordinator.sync("g", sync)).assignment == b"all"
    return reply


async def test_a_member_joins_syncs_beats_and_leaves(
    coordinator: GroupCoordinator, clock: SetClock
) -> None:
    member = await stable_member(coordinator, clock)
    assert member.member_id.startswith("client-")
    who = MemberIdentity(member.member_id)
    coordinator.heartbeat("g", who, 1)
    await coordinator.commit("g", commit_of(7, who=member.member_id, generation=1))
    assert offset_of(coordinator, "g") == 7
    assert coordinator.leave("g", [who]) == [None]
    assert coordinator.get("g").state is GroupState.EMPTY


async def test_members_go_on_after_a_restart_without_a_rebalance(
    coordinator: GroupCoordinator, clock: SetClock, store: MemoryOffsetStore
) -> None:
    member = await stable_member(coordinator, clock)
    await coordinator.commit("g", commit_of(7, who=member.member_id, generation=1))
    restarted = new_coordinator(store, clock)
    await restarted.start(TOPICS)
    restarted.heartbeat("g", MemberIdentity(member.member_id), 1)
    assert restarted.get("g").state is GroupState.STABLE
    assert [each.assignment for each in restarted.get("g").describe_members()] == [b"all"]
    assert offset_of(restarted, "g") == 7
    await pass_ms(restarted, clock, 11_000)
    assert restarted.get("g").state is GroupState.EMPTY
    await restarted.stop()


async def test_nothing_is_served_while_the_groups_are_read(
    clock: SetClock, store: MemoryOffsetStore
) -> None:
    coordinator = new_coordinator(store, clock)
    with pytest.raises(CoordinatorLoading):
        await coordinator.join("g", joining())
    with pytest.raises(CoordinatorLoading):
        coordinator.find("g")
    with pytest.raises(CoordinatorLoading):
        _ = coordinator.groups
    await coordinator.topic_deleted("t")


async def test_commits_that_arrive_during_a_write_share_the_next(
    coordinator: GroupCoordinator, store: MemoryOffsetStore
) -> None:
    store.partitions = 1
    store.hold()
    commits = [
        asyncio.create_task(coordinator.commit(f"g{each}", commit_of(each))) for each in range(20)
    ]
    await settle()
    store.release()
    await asyncio.gather(*commits)
    assert len(store.appends) <= 2
    assert sum(len(records) for _, records in store.appends) == 20


async def test_a_commit_outlives_the_client_that_sent_it(
    coordinator: GroupCoordinator, store: MemoryOffsetStore
) -> None:
    store.hold()
    commit = asyncio.create_task(coordinator.commit("g", commit_of(5)))
    await settle()
    commit.cancel()
    await settle()
    assert commit.cancelled()
    store.release()
    await settle()
    assert offset_of(coordinator, "g") == 5


async def test_a_client_that_goes_away_while_parked_leaves_nothing_behind(
    coordinator: GroupCoordinator, clock: SetClock
) -> None:
    join = asyncio.create_task(coordinator.join("g", joining(fresh_member_id="ghost")))
    await settle()
    join.cancel()
    await settle()
    assert all(len(shard._parking) == 0 for shard in coordinator._shards.values())
    await pass_ms(coordinator, clock, 100)
    assert coordinator.get("g").state is GroupState.COMPLETING_REBALANCE
    await pass_ms(coordinator, clock, 100_000)
    assert coordinator.get("g").state is GroupState.EMPTY


async def test_a_failed_write_is_not_reported_as_done(
    coordinator: GroupCoordinator, store: MemoryOffsetStore
) -> None:
    await coordinator.commit("g", commit_of(1))
    store.fails = True
    with pytest.raises(CoordinatorNotAvailable):
        await coordinator.commit("g", commit_of(2))
    assert offset_of(coordinator, "g") == 1


async def test_what_was_decided_after_a_failed_write_fails_with_it(
    coordinator: GroupCoordinator, store: MemoryOffsetStore
) -> None:
    store.partitions = 1
    store.hold()
    commits = [asyncio.create_task(coordinator.commit("g", commit_of(each))) for each in (1, 2)]
    await settle()
    store.fails = True
    store.release()
    results = await asyncio.gather(*commits, return_exceptions=True)
    assert [type(each) for each in results] == [CoordinatorNotAvailable] * 2
    assert coordinator.find("g") is None


async def test_too_many_waiting_writes_push_back(clock: SetClock, store: MemoryOffsetStore) -> None:
    store.partitions = 1
    coordinator = new_coordinator(store, clock, GroupSettings(writes_queued_max=3))
    await coordinator.start(TOPICS)
    store.hold()
    commits = []
    for each in range(4):
        commits.append(asyncio.create_task(coordinator.commit("g", commit_of(each))))
        await settle()
    with pytest.raises(CoordinatorNotAvailable):
        await coordinator.commit("g", commit_of(9))
    store.release()
    await asyncio.gather(*commits)
    assert offset_of(coordinator, "g") == 3
    await coordinator.stop()


async def test_a_group_that_only_gave_out_an_id_disappears(
    coordinator: GroupCoordinator, clock: SetClock
) -> None:
    with pytest.raises(MemberIdRequired):
        await coordinator.join("g", joining(fresh_member_id="m", knows_id_handshake=True))
    assert [group.id for group in coordinator.groups] == ["g"]
    await pass_ms(coordinator, clock, 10_000)
    assert list(coordinator.groups) == []


async def test_a_refused_first_request_makes_no_group(coordinator: GroupCoordinator) -> None:
    with pytest.raises(UnknownMember):
        await coordinator.join("g", joining("known"))
    with pytest.raises(GroupIdNotFound):
        await coordinator.commit("g", commit_of(1, who="m", generation=1))
    with pytest.raises(InconsistentGroupProtocol):
        await coordinator.join("g", joining(protocols=()))
    assert coordinator.find("g") is None


async def test_group_ids_are_checked(coordinator: GroupCoordinator) -> None:
    with pytest.raises(InvalidGroupId):
        await coordinator.join("", joining())
    with pytest.raises(InvalidGroupId):
        coordinator.heartbeat("", MemberIdentity("m"), 1)
    with pytest.raises(InvalidGroupId):
        await coordinator.join("g" * 5_000, joining())
    await coordinator.commit("", commit_of(1))
    assert offset_of(coordinator, "") == 1


async def test_leaving_an_unknown_group_is_told_to_each(coordinator: GroupCoordinator) -> None:
    results = coordinator.leave("nowhere", [MemberIdentity("a"), MemberIdentity("b")])
    assert [type(each) for each in results] == [UnknownMember, UnknownMember]


async def test_the_number_of_groups_is_bounded(clock: SetClock, store: MemoryOffsetStore) -> None:
    coordinator = new_coordinator(store, clock, GroupSettings(groups_max=1))
    await coordinator.start(TOPICS)
    await coordinator.commit("one", commit_of(1))
    with pytest.raises(PolicyViolation):
        await coordinator.commit("two", commit_of(1))
    await coordinator.stop()


async def test_a_deleted_group_is_gone_after_a_restart_too(
    coordinator: GroupCoordinator, clock: SetClock, store: MemoryOffsetStore
) -> None:
    await coordinator.commit("g", commit_of(1))
    await coordinator.delete("g")
    assert coordinator.find("g") is None
    with pytest.raises(GroupIdNotFound):
        await coordinator.delete("g")
    restarted = new_coordinator(store, clock)
    await restarted.start(TOPICS)
    assert list(restarted.groups) == []
    await restarted.stop()


async def test_old_offsets_are_removed_in_time(
    coordinator: GroupCoordinator, clock: SetClock, store: MemoryOffsetStore
) -> None:
    await coordinator.commit("g", commit_of(1))
    await pass_ms(coordinator, clock, 8 * DAY_MS)
    assert coordinator.find("g") is None
    key, value = store.appends[-1][1][-1]
    assert isinstance(decode(key, value), OffsetForgotten)


async def test_a_deleted_topic_takes_its_offsets_along(coordinator: GroupCoordinator) -> None:
    await coordinator.commit("g", commit_of(1, "t"))
    await coordinator.commit("g", commit_of(2, "u"))
    await coordinator.topic_deleted("t")
    await settle()
    assert offset_of(coordinator, "g", "t") is None
    assert offset_of(coordinator, "g", "u") == 2


async def test_topics_that_went_while_the_broker_was_down_are_forgotten(
    coordinator: GroupCoordinator, clock: SetClock, store: MemoryOffsetStore
) -> None:
    await coordinator.commit("g", commit_of(1, "t"))
    await coordinator.commit("g", commit_of(2, "u"))
    restarted = new_coordinator(store, clock)
    await restarted.start({"u"})
    await settle()
    assert offset_of(restarted, "g", "t") is None
    assert offset_of(restarted, "g", "u") == 2
    await restarted.stop()


async def test_stopping_answers_those_who_wait(clock: SetClock, store: MemoryOffsetStore) -> None:
    coordinator = new_coordinator(store, clock)
    await coordinator.start(TOPICS)
    join = asyncio.create_task(coordinator.join("g", joining(fresh_member_id="m")))
    await settle()
    await coordinator.stop()
    with pytest.raises(CoordinatorNotAvailable):
        await join
    with pytest.raises(CoordinatorNotAvailable):
        coordinator.find("g")


async def test_unreadable_records_do_not_keep_the_groups_from_being_read(
    clock: SetClock, store: MemoryOffsetStore
) -> None:
    store.appends.append((0, ((b"\x00\x63", b"from the future"),)))
    coordinator = new_coordinator(store, clock)
    await coordinator.start(TOPICS)
    assert list(coordinator.groups) == []
    await coordinator.stop()


async def test_the_timer_ticks_by_itself(store: MemoryOffsetStore) -> None:
    class LoopClock(SetClock):
        def monotonic_ms(self) -> int:
            return int(asyncio.get_running_loop().time() * 1000)

    coordinator = new_coordinator(store, LoopClock(), GroupSettings(initial_rebalance_delay_ms=20))
    await coordinator.start(TOPICS)
    async with asyncio.timeout(5):
        reply = await coordinator.join("g", joining(fresh_member_id="m"))
    assert reply.generation == 1
    await coordinator.stop()


async def test_a_rebalance_is_reported_while_another_node_may_take_the_partition_back(
    coordinator: GroupCoordinator, store: MemoryOffsetStore, clock: SetClock
) -> None:
    where = partition_for("g", store.partitions)
    first = asyncio.create_task(coordinator.join("g", joining(fresh_member_id="a")))
    await settle()
    assert coordinator.rebalancing() == ()
    store.is_substitute = True
    assert coordinator.rebalancing() == (where,)
    await pass_ms(coordinator, clock, 100)
    reply = await first
    assert coordinator.rebalancing() == (where,)
    sync = SyncRequest(MemberIdentity("a"), reply.generation, None, None, {"a": b"all"})
    await coordinator.sync("g", sync)
    assert coordinator.rebalancing() == ()


async def test_a_rebalance_that_takes_long_is_not_waited_for(
    coordinator: GroupCoordinator, store: MemoryOffsetStore, clock: SetClock
) -> None:
    store.is_substitute = True
    long_ms = 600_000
    request = joining(fresh_member_id="a", rebalance_timeout_ms=long_ms, session_timeout_ms=long_ms)
    join = asyncio.create_task(coordinator.join("g", request))
    await settle()
    await pass_ms(coordinator, clock, 100)
    await join
    assert coordinator.rebalancing() != ()
    clock.at_ms += REBALANCE_AWAITED_MS_MAX
    assert coordinator.rebalancing() == ()


class SlowClock(SetClock):
    """Every look finds that the turn is used up."""

    def thread_ns(self) -> int:
        self.looks = getattr(self, "looks", 0) + 1
        return self.looks * TURN_NS


async def test_offsets_of_many_groups_expire_in_short_turns(store: MemoryOffsetStore) -> None:
    clock = SlowClock()
    settings = GroupSettings(offsets_retention_ms=DAY_MS)
    coordinator = new_coordinator(store, clock, settings)
    await coordinator.start(TOPICS)
    for number in range(40):
        await coordinator.commit(f"g{number}", commit_of(1))
    clock.at_ms += 2 * DAY_MS
    coordinator.tick()
    await asyncio.sleep(0)
    left = [len(coordinator.groups)]
    while left[-1]:
        await asyncio.sleep(0)
        left.append(len(coordinator.groups))
        assert len(left) < 1_000
    assert len(set(left)) > 10
    await coordinator.stop()
