"""What a client of one broker is told about all of them."""

from types import SimpleNamespace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from msgspec.structs import replace
from tests.fakes.cluster_nodes import eventually
from tests.fakes.live_nodes import LiveNodes

from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.model.errors import InvalidReplicationFactor
from duolog.model.names import OFFSETS_TOPIC
from duolog.model.partition_state import NO_LEADER
from duolog.ports.metastore import Put
from duolog.wire.kafka.apis import ApiKey

HERE = 3


@pytest.fixture
async def nodes(store) -> LiveNodes:
    nodes = LiveNodes(store)
    for node in (1, 2, HERE):
        await nodes.register(node, rack=f"rack-{node}")
    nodes.controller = 2
    return nodes


async def change(broker, store, topic, index, **fields) -> None:
    """As the controller or the partition's leader would."""
    state = replace(broker.catalog.partition_state(topic, index), **fields)
    await store.transact([], [Put(partition_key(topic.id, index), encode_state(state))])
    await eventually(lambda: broker.catalog.partition_state(topic, index) == state)


class Metadata:
    """A client that asks the same broker again and again."""

    def __init__(self, broker) -> None:
        self._broker = broker

    async def ask(self, version: int | None = None) -> Any:
        fields = {"topics": None, "allow_auto_topic_creation": False}
        return await self._broker.call(ApiKey.METADATA, version, **fields)

    async def partition(self) -> Any:
        return (await self.ask()).topics[0].partitions[0]


async def test_every_live_broker_is_named_with_its_rack(broker, nodes):
    answer = await Metadata(broker).ask()
    assert [(each.node_id, each.host, each.port, each.rack) for each in answer.brokers] == [
        (1, "127.0.0.1", 9001, "rack-1"),
        (2, "127.0.0.1", 9002, "rack-2"),
        (3, "broker.example", 9092, "north"),
    ]
    assert answer.controller_id == 2
    described = await broker.call(ApiKey.DESCRIBE_CLUSTER, endpoint_type=1)
    assert [each.broker_id for each in described.brokers] == [1, 2, 3]
    assert described.controller_id == 2


async def test_without_a_controller_that_can_be_reached_it_is_this_broker(broker, nodes):
    await nodes.register(9, roles=("controller",), kafka="")
    for nodes.controller in (9, 4, None):
        answer = await Metadata(broker).ask()
        assert answer.controller_id == HERE
        assert [each.node_id for each in answer.brokers] == [1, 2, 3]


async def test_partitions_are_shown_as_they_are_now(broker, nodes, store):
    topic = await broker.catalog.create_topic("orders", 1, {}, assignment={0: [1, 2, 3]})
    client = Metadata(broker)
    shown = await client.partition()
    assert (shown.leader_id, shown.leader_epoch, shown.replica_nodes) == (1, 0, (1, 2, 3))
    assert (shown.isr_nodes, shown.offline_replicas) == ((1, 2, 3), ())
    await change(broker, store, topic, 0, leader=2, leader_epoch=1, in_sync=(2, 3))
    shown = await client.partition()
    assert (shown.leader_id, shown.leader_epoch, shown.isr_nodes) == (2, 1, (2, 3))


async def test_a_leader_that_is_gone_is_not_named(broker, nodes):
    await broker.catalog.create_topic("orders", 1, {}, assignment={0: [1, 2]})
    client = Metadata(broker)
    assert (await client.partition()).error_code == ErrorCode.none
    await nodes.lose(1)
    shown = await client.partition()
    assert shown.error_code == ErrorCode.leader_not_available
    assert (shown.leader_id, shown.offline_replicas) == (-1, (1,))
    await nodes.register(1)
    assert (await client.partition()).leader_id == 1


async def test_partitions_are_described_with_who_may_lead(broker, nodes, store):
    topic = await broker.catalog.create_topic("orders", 1, {}, assignment={0: [1, 2, 3]})
    await nodes.lose(1)
    await change(broker, store, topic, 0, leader=2, in_sync=(2,), eligible=(3,))
    response = await broker.call(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        topics=[{"name": "orders"}],
        response_partition_limit=10,
        cursor=None,
    )
    (shown,) = response.topics[0].partitions
    assert (shown.leader_id, shown.isr_nodes) == (2, (2,))
    assert (shown.eligible_leader_replicas, shown.offline_replicas) == ((3,), (1,))


def groups_at(index: int) -> Any:
    async def locate(group_id: str) -> int:
        return index

    return SimpleNamespace(locate=locate)


async def find(broker) -> Any:
    found = await broker.call(ApiKey.FIND_COORDINATOR, coordinator_keys=["g"], key_type=0)
    return found.coordinators[0]


async def test_a_group_is_coordinated_by_the_leader_of_its_partition(broker, nodes, store):
    assignment = {0: [1, 2], 1: [3, 2]}
    topic = await broker.catalog.create_topic(OFFSETS_TOPIC, 2, {}, assignment=assignment)
    for index, where in ((0, (1, "127.0.0.1", 9001)), (1, (HERE, "broker.example", 9092))):
        broker.groups = groups_at(index)
        found = await find(broker)
        assert (found.node_id, found.host, found.port) == where
    await change(broker, store, topic, 1, leader=NO_LEADER)
    assert (await find(broker)).error_code == ErrorCode.coordinator_not_available
    await change(broker, store, topic, 1, leader=2)
    assert (await find(broker)).node_id == 2
    await nodes.lose(2)
    found = await find(broker)
    assert (found.error_code, found.node_id) == (ErrorCode.coordinator_not_available, -1)


async def test_offsets_that_have_no_place_yet_have_no_coordinator_yet(broker):
    async def locate(group_id: str) -> int:
        raise InvalidReplicationFactor("too few brokers")

    broker.groups = SimpleNamespace(locate=locate)
    found = await find(broker)
    assert found.error_code == ErrorCode.coordinator_not_available
    assert found.error_message == "too few brokers"


async def create(broker, **fields) -> Any:
    wanted = {"name": "orders", "num_partitions": 2, "replication_factor": -1, "assignments": []}
    topics = [{**wanted, "configs": [], **fields}]
    response = await broker.call(
        ApiKey.CREATE_TOPICS, topics=topics, timeout=1000, validate_only=False
    )
    return response.topics[0]


@pytest.mark.parametrize(("asked", "factor"), [(-1, 3), (1, 1), (2, 2), (3, 3)])
async def test_topics_get_the_replicas_that_were_asked_for(broker, asked, factor):
    result = await create(broker, replication_factor=asked)
    assert (result.error_code, result.replication_factor) == (ErrorCode.none, factor)
    topic = broker.catalog.get("orders")
    assert len(broker.catalog.partition_state(topic, 1).replicas) == factor


async def test_more_replicas_than_brokers_cannot_be_had(broker):
    result = await create(broker, replication_factor=4)
    assert result.error_code == ErrorCode.invalid_replication_factor


async def test_a_client_can_choose_the_replicas(broker):
    by_hand = [{"partition_index": at, "broker_ids": ids} for at, ids in ((1, [2]), (0, [1]))]
    result = await create(broker, num_partitions=-1, assignments=by_hand)
    assert (result.error_code, result.replication_factor) == (ErrorCode.none, 1)
    topic = broker.catalog.get("orders")
    assert broker.catalog.partition_state(topic, 1).replicas == (2,)
    grown = [{"name": "orders", "count": 3, "assignments": [{"broker_ids": [3]}]}]
    response = await broker.call(
        ApiKey.CREATE_PARTITIONS, topics=grown, timeout=1000, validate_only=False
    )
    assert response.results[0].error_code == ErrorCode.none
    assert broker.catalog.partition_state(topic, 2).replicas == (3,)


async def test_a_partition_assigned_twice_is_refused(broker):
    twice = [{"partition_index": 0, "broker_ids": [1]}] * 2
    result = await create(broker, num_partitions=-1, assignments=twice)
    assert result.error_code == ErrorCode.invalid_replica_assignment


async def reassign(broker, replicas, index=0, version=None, **more) -> Any:
    partitions = [{"partition_index": index, "replicas": replicas}]
    response = await broker.call(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        version,
        timeout=1000,
        topics=[{"name": "orders", "partitions": partitions}],
        **more,
    )
    (result,) = response.responses[0].partitions
    return result


async def under_way(broker, topics=None) -> Any:
    response = await broker.call(ApiKey.LIST_PARTITION_REASSIGNMENTS, timeout=1000, topics=topics)
    return response.topics


@pytest.mark.parametrize("version", [0, 1])
async def test_a_reassignment_is_begun_shown_and_cancelled(broker, version):
    await broker.catalog.create_topic("orders", 2, {}, assignment={0: [1, 2], 1: [2, 1]})
    begun = await reassign(broker, [2, 3], version=version, allow_replication_factor_change=True)
    assert begun.error_code == ErrorCode.none
    for topics in (None, [{"name": "orders", "partition_indexes": [0, 1, 7]}]):
        (topic,) = await under_way(broker, topics)
        (shown,) = topic.partitions
        assert (shown.partition_index, set(shown.replicas)) == (0, {1, 2, 3})
        assert (shown.adding_replicas, shown.removing_replicas) == ((3,), (1,))
    assert await under_way(broker, [{"name": "orders", "partition_indexes": [1]}]) == ()
    assert (await reassign(broker, None, version=version)).error_code == ErrorCode.none
    assert await under_way(broker) == ()


async def test_a_reassignment_that_cannot_be_is_refused(broker):
    await broker.catalog.create_topic("orders", 1, {}, assignment={0: [1, 2]})
    assert (await reassign(broker, None)).error_code == ErrorCode.no_reassignment_in_progress
    for replicas in ([1, 1], [8], []):
        refused = await reassign(broker, replicas)
        assert refused.error_code == ErrorCode.invalid_replica_assignment
        assert refused.error_message
    unknown = await reassign(broker, [1], index=5)
    assert unknown.error_code == ErrorCode.unknown_topic_or_partition
    kept = await reassign(broker, [1], allow_replication_factor_change=False)
    assert kept.error_code == ErrorCode.invalid_replication_factor


async def elect(broker, *partitions, version=None, **more) -> dict[int, ErrorCode]:
    named = [{"topic": "orders", "partitions": list(partitions)}] if partitions else None
    response = await broker.call(
        ApiKey.ELECT_LEADERS, version, timeout=1000, topic_partitions=named, **more
    )
    return {
        each.partition_id: each.error_code
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize("version", range(3))
async def test_the_preferred_leader_is_elected(broker, store, version):
    topic = await broker.catalog.create_topic("orders", 2, {}, assignment={0: [1, 2], 1: [2, 1]})
    await change(broker, store, topic, 0, leader=2, leader_epoch=4)
    results = await elect(broker, 0, 1, version=version)
    assert results == {0: ErrorCode.none, 1: ErrorCode.election_not_needed}
    state = broker.catalog.partition_state(topic, 0)
    assert (state.leader, state.leader_epoch) == (1, 5)


async def test_of_all_partitions_those_that_changed_are_told(broker, store):
    topic = await broker.catalog.create_topic("orders", 3, {}, replication_factor=3)
    state = broker.catalog.partition_state(topic, 1)
    await change(broker, store, topic, 1, leader=state.replicas[1])
    assert await elect(broker) == {1: ErrorCode.none}


async def test_a_preferred_leader_that_cannot_lead_is_not_elected(broker, nodes, store):
    topic = await broker.catalog.create_topic("orders", 1, {}, assignment={0: [1, 2]})
    await change(broker, store, topic, 0, leader=2, in_sync=(2,))
    assert await elect(broker, 0) == {0: ErrorCode.preferred_leader_not_available}
    unknown = await elect(broker, 9)
    assert unknown == {9: ErrorCode.unknown_topic_or_partition}


async def test_an_operator_can_have_anybody_lead(broker, nodes, store):
    topic = await broker.catalog.create_topic("orders", 1, {}, assignment={0: [1, 2]})
    assert await elect(broker, 0, election_type=1) == {0: ErrorCode.election_not_needed}
    await nodes.lose(1)
    await change(broker, store, topic, 0, leader=NO_LEADER, in_sync=(1,))
    assert await elect(broker, 0, election_type=1) == {0: ErrorCode.none}
    assert broker.catalog.partition_state(topic, 0).leader == 2
    strange = await broker.call(
        ApiKey.ELECT_LEADERS, election_type=7, timeout=1000, topic_partitions=None
    )
    assert strange.error_code == ErrorCode.invalid_request
