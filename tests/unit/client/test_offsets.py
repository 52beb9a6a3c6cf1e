"""Offsets of many partitions at once."""

from typing import Any

import pytest
from tests.unit.client.kafka_server import KafkaServer

from duolog.client import offsets
from duolog.client.cluster import Cluster
from duolog.client.errors import Refused
from duolog.client.offsets import Bounds, bounds_of, list_offsets
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.special_offsets import EARLIEST

UNKNOWN_TOPIC_OR_PARTITION = 3


@pytest.fixture
def removed(server: KafkaServer) -> set[str]:
    """Topics that are gone since the client heard of them; others have offsets 2 to 9."""
    removed: set[str] = set()

    def partition(topic: str, asked: Any) -> dict[str, int]:
        return {
            "partition_index": asked.partition_index,
            "error_code": UNKNOWN_TOPIC_OR_PARTITION if topic in removed else 0,
            "offset": 2 if asked.timestamp == EARLIEST else 9,
        }

    server.topics = {"orders": 2, "bills": 1}
    server.answers[ApiKey.LIST_OFFSETS] = lambda request: {
        "topics": [
            {
                "name": topic.name,
                "partitions": [partition(topic.name, each) for each in topic.partitions],
            }
            for topic in request.topics
        ]
    }
    return removed


@pytest.mark.usefixtures("removed")
async def test_many_topics_take_one_request_each_way(server: KafkaServer, cluster: Cluster) -> None:
    partitions = [("orders", 0), ("orders", 1), ("bills", 0)]
    assert await bounds_of(cluster, partitions) == dict.fromkeys(partitions, Bounds(2, 9))
    assert len(server.asked(ApiKey.LIST_OFFSETS)) == 2


@pytest.mark.usefixtures("removed")
async def test_very_many_partitions_take_several(
    server: KafkaServer, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "PARTITIONS_PER_REQUEST_MAX", 2)
    wanted = {("orders", 0): 1, ("orders", 1): 1, ("bills", 0): 1}
    assert await list_offsets(cluster, wanted) == dict.fromkeys(wanted, 9)
    assert len(server.asked(ApiKey.LIST_OFFSETS)) == 2


async def test_what_is_missing_is_refused_or_left_out(cluster: Cluster, removed: set[str]) -> None:
    await cluster.metadata()
    removed.add("bills")
    wanted = {("orders", 0): 1, ("bills", 0): 1, ("orders", 7): 1, ("never", 0): 1}
    found = await list_offsets(cluster, wanted, missing_ok=True)
    assert found == {("orders", 0): 9}
    for missing in list(wanted)[1:]:
        with pytest.raises(Refused) as refused:
            await list_offsets(cluster, {missing: 1})
        assert refused.value.name == "UNKNOWN_TOPIC_OR_PARTITION"


async def test_nothing_is_asked_about_nothing(server: KafkaServer, cluster: Cluster) -> None:
    assert await bounds_of(cluster, []) == {}
    assert server.requests == []
