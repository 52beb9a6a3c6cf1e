"""The group APIs over the wire's own encoding, at every version that is served."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.group_driver import subscription
from tests.fakes.group_shell import MemoryOffsetStore, SetClock, new_coordinator, settle
from tests.fakes.kafka_calls import Caller

from duolog.broker.cluster_nodes import SoleNode
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import UnknownTopicId
from duolog.wire.kafka.apis import APIS, ApiKey

T_ID = uuid.UUID(int=1)
T = SimpleNamespace(name="t", id=T_ID, partitions=2)


def versions(key: ApiKey) -> list[int]:
    return list(range(APIS[key].min_version, APIS[key].max_version + 1))


def of(key: ApiKey) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("version", versions(key))


class Catalog:
    def __init__(self) -> None:
        self.topics = {"t": T}
        self.nodes = SoleNode(7)

    def leader_of(self, topic: str, index: int) -> int | None:
        return 7

    def by_id(self, topic_id: uuid.UUID) -> Any:
        if topic_id != T_ID:
            raise UnknownTopicId("no such topic")
        return T


class Wire:
    """A client of one version per request, without a connection."""

    def __init__(self, groups: GroupCoordinator) -> None:
        self.broker: Any = SimpleNamespace(
            groups=groups,
            catalog=Catalog(),
            node_id=7,
            advertised=("host", 9092),
            rack=None,
            roles=SimpleNamespace(is_suspended=False),
        )
        self.send = Caller(self.broker, "client", "10.0.0.1").call

    async def join(self, version: int, member_id: str = "", **fields: Any) -> Any:
        return await self.send(
            ApiKey.JOIN_GROUP,
            version,
            group_id="g",
            session_timeout=10_000,
            rebalance_timeout=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": subscription("t")}],
            **fields,
        )

    async def member(self, version: int = 9) -> str:
        """A member of a stable group."""
        joined = await self.join(version)
        if joined.error_code is ErrorCode.member_id_required:
            joined = await self.join(version, joined.member_id)
        assert joined.error_code is ErrorCode.none
        member_id: str = joined.member_id
        synced = await self.send(
            ApiKey.SYNC_GROUP,
            5,
            group_id="g",
            generation_id=joined.generation_id,
            member_id=member_id,
            assignments=[{"member_id": member_id, "assignment": b"all"}],
        )
        assert synced.error_code is ErrorCode.none
        return member_id

    async def commit(
        self, offset: int, group_id: str = "g", version: int = 9, generation: int = -1
    ) -> Any:
        partitions = [{"partition_index": 0, "committed_offset": offset}]
        topic = {"name": "t"} if version < 10 else {"topic_id": T_ID}
        return await self.send(
            ApiKey.OFFSET_COMMIT,
            version,
            group_id=group_id,
            generation_id_or_member_epoch=generation,
            topics=[{**topic, "partitions": partitions}],
        )


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    settings = GroupSettings(initial_rebalance_delay_ms=0)
    groups = new_coordinator(MemoryOffsetStore(), SetClock(), settings)
    await groups.start({"t"})
    yield Wire(groups)
    await groups.stop()


@of(ApiKey.FIND_COORDINATOR)
async def test_this_node_coordinates_every_group(wire: Wire, version: int) -> None:
    if version < 4:
        found = await wire.send(ApiKey.FIND_COORDINATOR, version, key="g")
    else:
        found = await wire.send(ApiKey.FIND_COORDINATOR, version, coordinator_keys=["g", "h"])
        assert [each.key for each in found.coordinators] == ["g", "h"]
        found = found.coordinators[0]
    assert (found.node_id, found.host, found.port) == (7, "host", 9092)
    assert found.error_code is ErrorCode.none


@pytest.mark.parametrize("key_type", [1, 2, 3])
async def test_nobody_coordinates_anything_else(wire: Wire, key_type: int) -> None:
    found = await wire.send(ApiKey.FIND_COORDINATOR, 3, key="x", key_type=key_type)
    assert found.error_code is not ErrorCode.none
    assert found.node_id == -1
    assert found.error_message


@of(ApiKey.JOIN_GROUP)
async def test_a_member_joins_at_every_version(wire: Wire, version: int) -> None:
    joined = await wire.join(version)
    if version >= 4:
        assert joined.error_code is ErrorCode.member_id_required
        joined = await wire.join(version, joined.member_id)
    assert joined.error_code is ErrorCode.none
    assert joined.member_id.startswith("client-")
    assert joined.leader == joined.member_id
    assert joined.protocol_name == "range"
    assert [each.member_id for each in joined.members] == [joined.member_id]


@of(ApiKey.JOIN_GROUP)
async def test_a_refused_join_names_the_member(wire: Wire, version: int) -> None:
    joined = await wire.join(version, "stranger")
    assert joined.error_code is ErrorCode.unknown_member_id
    assert joined.member_id == "stranger"
    assert joined.members == ()


async def test_before_version_1_the_session_bounds_the_rebalance(wire: Wire) -> None:
    await wire.join(0)
    (member,) = wire.broker.groups.get("g")._rebalance.roster
    assert member.rebalance_timeout_ms == 10_000


@of(ApiKey.SYNC_GROUP)
async def test_a_follower_is_handed_its_part_at_every_version(wire: Wire, version: int) -> None:
    first = await wire.join(3)
    second = asyncio.create_task(wire.join(3))
    await settle()
    leader = await wire.join(3, first.member_id)
    follower = await second
    assert follower.members == ()
    base = {"group_id": "g", "generation_id": leader.generation_id}
    waiting = asyncio.create_task(
        wire.send(ApiKey.SYNC_GROUP, version, **base, member_id=follower.member_id, assignments=[])
    )
    await settle()
    assert not waiting.done()
    assignments = [{"member_id": follower.member_id, "assignment": b"part"}]
    await wire.send(
        ApiKey.SYNC_GROUP, version, **base, member_id=leader.member_id, assignments=assignments
    )
    synced = await waiting
    assert synced.error_code is ErrorCode.none
    assert synced.assignment == b"part"


@of(ApiKey.SYNC_GROUP)
async def test_a_strangers_sync_is_refused(wire: Wire, version: int) -> None:
    await wire.member()
    synced = await wire.send(
        ApiKey.SYNC_GROUP, version, group_id="g", generation_id=1, member_id="x", assignments=[]
    )
    assert synced.error_code is ErrorCode.unknown_member_id
    assert synced.assignment == b""


@of(ApiKey.HEARTBEAT)
async def test_heartbeats_at_every_version(wire: Wire, version: int) -> None:
    member = await wire.member()
    fields = {"group_id": "g", "generation_id": 1, "member_id": member}
    beat = await wire.send(ApiKey.HEARTBEAT, version, **fields)
    assert beat.error_code is ErrorCode.none
    beat = await wire.send(ApiKey.HEARTBEAT, version, **{**fields, "generation_id": 9})
    assert beat.error_code is ErrorCode.illegal_generation


@of(ApiKey.LEAVE_GROUP)
async def test_a_member_leaves_at_every_version(wire: Wire, version: int) -> None:
    member = await wire.member()
    if version < 3:
        left = await wire.send(ApiKey.LEAVE_GROUP, version, group_id="g", member_id=member)
        assert left.error_code is ErrorCode.none
        left = await wire.send(ApiKey.LEAVE_GROUP, version, group_id="g", member_id=member)
        assert left.error_code is ErrorCode.unknown_member_id
    else:
        leaving = [{"member_id": member}, {"member_id": "x"}]
        left = await wire.send(ApiKey.LEAVE_GROUP, version, group_id="g", members=leaving)
        assert left.error_code is ErrorCode.none
        codes = [each.error_code for each in left.members]
        assert codes == [ErrorCode.none, ErrorCode.unknown_member_id]


@of(ApiKey.OFFSET_COMMIT)
async def test_offsets_are_committed_at_every_version(wire: Wire, version: int) -> None:
    partitions = [
        {"partition_index": 0, "committed_offset": 5, "committed_metadata": None},
        {"partition_index": 1, "committed_offset": 6, "committed_metadata": "x" * 5_000},
        {"partition_index": 2, "committed_offset": 7},
    ]
    topics: list[dict[str, Any]] = [{"partitions": partitions}, {"partitions": partitions[:1]}]
    for topic, name, topic_id in zip(topics, ("t", "gone"), (T_ID, uuid.uuid4()), strict=True):
        topic |= {"name": name} if version < 10 else {"topic_id": topic_id}
    committed = await wire.send(
        ApiKey.OFFSET_COMMIT,
        version,
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=topics,
    )
    known, unknown = committed.topics
    assert [each.error_code for each in known.partitions] == [
        ErrorCode.none,
        ErrorCode.offset_metadata_too_large,
        ErrorCode.unknown_topic_or_partition,
    ]
    missing = ErrorCode.unknown_topic_or_partition if version < 10 else ErrorCode.unknown_topic_id
    assert [each.error_code for each in unknown.partitions] == [missing]
    (offset,) = wire.broker.groups.get("g").ledger.offsets.values()
    assert (offset.offset, offset.metadata) == (5, "")


async def test_an_old_client_chooses_the_retention(wire: Wire) -> None:
    await wire.send(
        ApiKey.OFFSET_COMMIT,
        2,
        group_id="g",
        generation_id_or_member_epoch=-1,
        retention_time=1_000,
        topics=[{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 5}]}],
    )
    (offset,) = wire.broker.groups.get("g").ledger.offsets.values()
    assert offset.expire_timestamp_ms == offset.commit_timestamp_ms + 1_000


async def test_an_outsiders_commit_is_refused_for_each_partition(wire: Wire) -> None:
    await wire.member()
    committed = await wire.commit(5)
    assert committed.topics[0].partitions[0].error_code is ErrorCode.unknown_member_id


def asked_groups(version: int, topics: Any, *groups: str) -> dict[str, Any]:
    if version < 8:
        return {"group_id": groups[0], "topics": topics}
    return {"groups": [{"group_id": each, "topics": topics} for each in groups]}


@of(ApiKey.OFFSET_COMMIT)
async def test_a_member_of_no_group_commits_nothing(wire: Wire, version: int) -> None:
    answer = await wire.commit(5, "nobody", version, generation=1)
    (partition,) = answer.topics[0].partitions
    not_found = ErrorCode.illegal_generation if version < 9 else ErrorCode.group_id_not_found
    assert partition.error_code is not_found


@of(ApiKey.OFFSET_FETCH)
async def test_offsets_are_fetched_at_every_version(wire: Wire, version: int) -> None:
    await wire.commit(5)
    topic = {"name": "t"} if version < 10 else {"topic_id": T_ID}
    topics = [{**topic, "partition_indexes": [0, 1]}]
    answer = await wire.send(
        ApiKey.OFFSET_FETCH, version, **asked_groups(version, topics, "g", "nobody")
    )
    group = answer if version < 8 else answer.groups[0]
    (fetched,) = group.topics
    assert [each.committed_offset for each in fetched.partitions] == [5, -1]
    assert {each.error_code for each in fetched.partitions} == {ErrorCode.none}
    if version >= 8:
        assert [each.group_id for each in answer.groups] == ["g", "nobody"]
        (nothing,) = answer.groups[1].topics
        assert [each.committed_offset for each in nothing.partitions] == [-1, -1]


@pytest.mark.parametrize("version", [each for each in versions(ApiKey.OFFSET_FETCH) if each >= 2])
async def test_all_offsets_are_fetched(wire: Wire, version: int) -> None:
    await wire.commit(5)
    answer = await wire.send(ApiKey.OFFSET_FETCH, version, **asked_groups(version, None, "g"))
    group = answer if version < 8 else answer.groups[0]
    assert group.error_code is ErrorCode.none
    (fetched,) = group.topics
    assert (fetched.name if version < 10 else fetched.topic_id) == ("t" if version < 10 else T_ID)
    assert [each.committed_offset for each in fetched.partitions] == [5]


async def test_an_unknown_topic_id_is_refused_for_each_partition(wire: Wire) -> None:
    topics = [{"topic_id": uuid.uuid4(), "partition_indexes": [0]}]
    answer = await wire.send(ApiKey.OFFSET_FETCH, 10, **asked_groups(10, topics, "g"))
    (partition,) = answer.groups[0].topics[0].partitions
    assert partition.error_code is ErrorCode.unknown_topic_id


@of(ApiKey.OFFSET_FETCH)
async def test_a_loading_coordinator_says_so(version: int) -> None:
    wire = Wire(new_coordinator(MemoryOffsetStore(), SetClock()))
    topic = {"name": "t"} if version < 10 else {"topic_id": T_ID}
    topics = [{**topic, "partition_indexes": [0]}]
    answer = await wire.send(ApiKey.OFFSET_FETCH, version, **asked_groups(version, topics, "g"))
    if version == 1:
        code = answer.topics[0].partitions[0].error_code
    else:
        code = (answer if version < 8 else answer.groups[0]).error_code
    assert code is ErrorCode.coordinator_load_in_progress


async def test_offsets_that_nobody_reads_are_deleted(wire: Wire) -> None:
    await wire.commit(5)
    fields = {
        "group_id": "g",
        "topics": [
            {"name": "t", "partitions": [{"partition_index": 0}]},
            {"name": "gone", "partitions": [{"partition_index": 0}]},
        ],
    }
    member = await wire.member()
    deleted = await wire.send(ApiKey.OFFSET_DELETE, 0, **fields)
    assert deleted.topics[0].partitions[0].error_code is ErrorCode.group_subscribed_to_topic
    await wire.send(ApiKey.LEAVE_GROUP, 1, group_id="g", member_id=member)
    deleted = await wire.send(ApiKey.OFFSET_DELETE, 0, **fields)
    assert deleted.error_code is ErrorCode.none
    assert [each.partitions[0].error_code for each in deleted.topics] == [
        ErrorCode.none,
        ErrorCode.unknown_topic_or_partition,
    ]
    assert not wire.broker.groups.get("g").ledger.offsets
    deleted = await wire.send(ApiKey.OFFSET_DELETE, 0, **{**fields, "group_id": "nobody"})
    assert deleted.error_code is ErrorCode.group_id_not_found


@of(ApiKey.LIST_GROUPS)
async def test_groups_are_listed_at_every_version(wire: Wire, version: int) -> None:
    await wire.member()
    await wire.commit(5, group_id="simple")
    listed = await wire.send(ApiKey.LIST_GROUPS, version)
    assert {each.group_id: each.protocol_type for each in listed.groups} == {
        "g": "consumer",
        "simple": "",
    }


async def test_listed_groups_are_filtered(wire: Wire) -> None:
    await wire.member()
    await wire.commit(5, group_id="simple")

    async def ids(**filters: list[str]) -> list[str]:
        listed = await wire.send(ApiKey.LIST_GROUPS, 5, **filters)
        return sorted(each.group_id for each in listed.groups)

    assert await ids(states_filter=["stable"]) == ["g"]
    assert await ids(states_filter=["Empty", "Dead"]) == ["simple"]
    assert await ids(types_filter=["Classic"]) == ["g", "simple"]
    assert await ids(types_filter=["consumer"]) == []


@of(ApiKey.DESCRIBE_GROUPS)
async def test_groups_are_described_at_every_version(wire: Wire, version: int) -> None:
    member = await wire.member()
    described = await wire.send(ApiKey.DESCRIBE_GROUPS, version, groups=["g", "nobody"])
    group, unknown = described.groups
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (listed,) = group.members
    assert (listed.member_id, listed.client_id, listed.client_host) == (
        member,
        "client",
        "/10.0.0.1",
    )
    assert (listed.member_metadata, listed.member_assignment) == (subscription("t"), b"all")
    assert unknown.group_state == "Dead"
    not_found = ErrorCode.none if version < 6 else ErrorCode.group_id_not_found
    assert unknown.error_code is not_found


async def test_the_allowed_operations_are_told_when_asked_for(wire: Wire) -> None:
    await wire.member()
    fields = {"groups": ["g"], "include_authorized_operations": True}
    described = await wire.send(ApiKey.DESCRIBE_GROUPS, 5, **fields)
    assert described.groups[0].authorized_operations == 0b1_0100_1000


@of(ApiKey.DELETE_GROUPS)
async def test_groups_are_deleted_at_every_version(wire: Wire, version: int) -> None:
    await wire.member()
    await wire.commit(5, group_id="simple")
    deleted = await wire.send(ApiKey.DELETE_GROUPS, version, groups_names=["g", "simple", "nobody"])
    assert [each.error_code for each in deleted.results] == [
        ErrorCode.non_empty_group,
        ErrorCode.none,
        ErrorCode.group_id_not_found,
    ]
    assert [each.id for each in wire.broker.groups.groups] == ["g"]
