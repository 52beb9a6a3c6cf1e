"""Finding brokers, and bearing with a cluster that changes."""

import asyncio
from typing import Any

import pytest
from tests.unit.client.kafka_server import NODE_ID, KafkaServer

from duolog.client.cluster import Cluster
from duolog.client.errors import Refused, Unreachable
from duolog.client.offsets import list_offsets
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.special_offsets import LATEST

NOT_LEADER_OR_FOLLOWER = 6


def offset_answers(server: KafkaServer, codes: list[int]) -> None:
    """ListOffsets is answered with these codes one after another, and then with success."""

    def answer(request: Any) -> dict[str, Any]:
        code = codes.pop(0) if codes else 0
        partitions = [
            {"partition_index": each.partition_index, "error_code": code, "offset": 7}
            for each in request.topics[0].partitions
        ]
        return {"topics": [{"name": request.topics[0].name, "partitions": partitions}]}

    server.answers[ApiKey.LIST_OFFSETS] = answer


async def test_concurrent_calls_share_one_connection(server: KafkaServer, cluster: Cluster) -> None:
    await asyncio.gather(*(cluster.metadata() for _ in range(5)))
    assert server.connections == 1


async def test_a_lost_connection_is_replaced_at_the_next_call(
    server: KafkaServer, cluster: Cluster
) -> None:
    await cluster.metadata()
    await server.stop()
    await asyncio.sleep(0.01)
    with pytest.raises(Unreachable):
        await cluster.metadata()
    await server.start()
    assert (await cluster.metadata()).cluster_id == "test"


async def test_topics_are_remembered_until_they_are_forgotten(
    server: KafkaServer, cluster: Cluster
) -> None:
    server.topics = {"orders": 2}
    assert await cluster.leader("orders", 1) == NODE_ID
    assert await cluster.leader("orders", 0) == NODE_ID
    assert len(server.asked(ApiKey.METADATA)) == 1
    cluster.forget()
    assert len((await cluster.topic("orders")).partitions) == 2
    assert len(server.asked(ApiKey.METADATA)) == 2


async def test_asking_for_a_topic_never_creates_it(server: KafkaServer, cluster: Cluster) -> None:
    with pytest.raises(Refused) as refused:
        await cluster.topic("absent")
    assert refused.value.name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert refused.value.subject == "topic 'absent'"
    assert not server.asked(ApiKey.METADATA)[0].allow_auto_topic_creation


async def test_a_partition_that_is_not_there_is_refused(
    server: KafkaServer, cluster: Cluster
) -> None:
    server.topics = {"orders": 2}
    with pytest.raises(Refused, match="partition 2 of topic 'orders'"):
        await cluster.leader("orders", 2)


@pytest.mark.usefixtures("quick")
async def test_a_change_of_leaders_is_waited_out(server: KafkaServer, cluster: Cluster) -> None:
    server.topics = {"orders": 1}
    offset_answers(server, [NOT_LEADER_OR_FOLLOWER] * 2)
    assert await list_offsets(cluster, {("orders", 0): LATEST}) == {("orders", 0): 7}
    assert len(server.asked(ApiKey.METADATA)) == 3


@pytest.mark.usefixtures("quick")
async def test_but_not_for_ever(server: KafkaServer, cluster: Cluster) -> None:
    server.topics = {"orders": 1}
    offset_answers(server, [NOT_LEADER_OR_FOLLOWER] * 10)
    with pytest.raises(Refused, match="NOT_LEADER_OR_FOLLOWER"):
        await list_offsets(cluster, {("orders", 0): LATEST})
