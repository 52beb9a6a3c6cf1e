"""What a client is told by a node that does not lead, or does not know all yet."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.fakes.group_shell import SetClock
from tests.fakes.replicas import House, a_batch, eventually, write
from tests.unit.kafka_api.test_connection import Wire, request

from duolog.adapters.sqlite import SqliteStore
from duolog.kafka_api.door import KafkaDoor
from duolog.model.errors import NotLeader
from duolog.observe.metrics import Metrics
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.error_codes import ErrorCode
from duolog.wire.kafka.frames import parse_response_header
from duolog.wire.kafka.messages import decode_response


@pytest.fixture
async def house() -> AsyncIterator[House]:
    store = await SqliteStore.open(":memory:", SetClock())
    house = House(store)
    await house.start(1, 2)
    yield house
    await house.stop()
    await store.close()


async def call(house: House, node: int, key: ApiKey, version: int, fields: dict[str, Any]) -> Any:
    """Over a connection of its own."""
    broker = house[node].broker
    wire = Wire()
    connection = KafkaDoor(broker, Metrics(), lambda: 77).new_session(wire)
    data = request(key, version, 1, fields)
    connection.get_buffer()[: len(data)] = data
    connection.received(len(data))
    await eventually(lambda: wire.sent)
    ((_, frame),) = wire.answers()
    _, at = parse_response_header(key, version, memoryview(frame), 0, len(frame))
    return decode_response(key, version, memoryview(frame)[at:])


async def produce(house: House, node: int, acks: int = -1) -> Any:
    rows = [{"index": 0, "records": bytes(a_batch())}]
    topics = [{"name": "t", "partition_data": rows}]
    fields = {"transactional_id": None, "acks": acks, "timeout": 1_000, "topic_data": topics}
    answer = await call(house, node, ApiKey.PRODUCE, 10, fields)
    return answer.responses[0].partition_responses[0]


async def fetch(house: House, node: int, offset: int = 0, version: int = 12, **more: Any) -> Any:
    wanted = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1 << 20,
    }
    fields = {
        "cluster_id": None,
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": "t", "partitions": [wanted]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    return await call(house, node, ApiKey.FETCH, version, fields | more)


async def list_offsets(house: House, node: int, replica_id: int = -1) -> Any:
    row = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    fields = {
        "replica_id": replica_id,
        "isolation_level": 0,
        "topics": [{"name": "t", "partitions": [row]}],
    }
    answer = await call(house, node, ApiKey.LIST_OFFSETS, 4, fields)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize("acks", [-1, 1])
async def test_a_producer_is_sent_to_the_leader(house: House, acks: int) -> None:
    await house.create((1, 2))
    row = await produce(house, 2, acks)
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (row.current_leader.leader_id, row.current_leader.leader_epoch) == (1, 0)


async def test_even_where_too_few_are_in_sync(house: House) -> None:
    await house.create((1, 2), min_insync_replicas="2")
    await house.change(in_sync=(1,))
    await eventually(lambda: house[2].partition().in_sync == (1,))
    row = await produce(house, 2)
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_acks_of_the_leader_alone_do_not_wait_for_followers(house: House) -> None:
    await house.create((1, 2))
    house.isolate(2)
    async with asyncio.timeout(10):
        row = await produce(house, 1, acks=1)
    assert (row.error_code, row.base_offset) == (0, 0)
    assert house[1].partition().high_watermark == 0


async def test_a_follower_serves_what_is_committed_to_new_clients_only(house: House) -> None:
    await house.create((1, 2))
    await house[1].partition().append(a_batch())
    await eventually(lambda: house[2].partition().high_watermark == 1)
    (old,) = (await fetch(house, 2, version=10)).responses[0].partitions
    assert old.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    (new,) = (await fetch(house, 2, version=12)).responses[0].partitions
    assert (new.error_code, new.high_watermark) == (0, 1)
    assert new.records
    house.isolate(2)
    write(house[1].partition())
    (ahead,) = (await fetch(house, 2, offset=2)).responses[0].partitions
    assert ahead.error_code == ErrorCode.OFFSET_NOT_AVAILABLE


async def test_a_follower_that_is_behind_or_out_of_touch_sends_consumers_away(house: House) -> None:
    """They would stay, and be told for ever that there is nothing new."""
    await house.create((1, 2))
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    house[2].broker.suspend(NotLeader("out of touch"))
    (suspended,) = (await fetch(house, 2)).responses[0].partitions
    assert suspended.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    house[2].broker.resume()
    (row,) = (await fetch(house, 2)).responses[0].partitions
    assert row.error_code == 0
    house.isolate(2)
    await house.change(in_sync=(1,))
    await eventually(lambda: house[2].partition().in_sync == (1,))
    (behind,) = (await fetch(house, 2)).responses[0].partitions
    assert behind.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_consumer_is_sent_to_the_copy_in_its_rack(house: House) -> None:
    await house.create((1, 2))
    await house[1].partition().append(a_batch())
    (row,) = (await fetch(house, 1, rack_id="rack-2")).responses[0].partitions
    assert (row.error_code, row.preferred_read_replica) == (0, 2)
    (own,) = (await fetch(house, 1, rack_id="rack-9")).responses[0].partitions
    assert own.preferred_read_replica == -1
    assert own.records


async def test_a_forged_replica_id_is_refused(house: House) -> None:
    await house.create((1, 2))
    write(house[1].partition())
    answer = await fetch(house, 1, replica_id=2)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert (await list_offsets(house, 1, replica_id=2)).error_code == ErrorCode.INVALID_REQUEST


async def test_rule_11_the_end_is_not_told_before_it_is_known(house: House) -> None:
    await house.create((1, 2))
    house.isolate(2)
    write(house[1].partition())
    await house.elect(1)
    assert (await list_offsets(house, 1)).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    house.heal()
    await eventually(lambda: house[1].partition().is_current)
    assert (await list_offsets(house, 1)).offset == 1
    assert (await list_offsets(house, 2)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
