"""Groups, where a real node cannot be brought to misbehave."""

from typing import Any

import pytest
from tests.unit.client.kafka_server import NODE_ID, KafkaServer

from duolog.client.cluster import Cluster
from duolog.client.errors import Refused
from duolog.client.groups import (
    commit_offsets,
    committed_offsets,
    delete_offsets,
    list_groups,
)
from duolog.wire.kafka.apis import ApiKey

COORDINATOR_LOAD_IN_PROGRESS = 14
NOT_COORDINATOR = 16
UNKNOWN_MEMBER_ID = 25


@pytest.fixture
def codes(server: KafkaServer) -> list[int]:
    """What the next answers about offsets say; then all is well."""
    codes: list[int] = []

    def find(request: Any) -> dict[str, Any]:
        host, port = server.endpoint
        return {
            "coordinators": [
                {"key": key, "node_id": NODE_ID, "host": host, "port": port, "error_code": 0}
                for key in request.coordinator_keys
            ]
        }

    def commit(request: Any) -> dict[str, Any]:
        code = codes.pop(0) if codes else 0
        return {
            "topics": [
                {
                    "name": topic.name,
                    "partitions": [
                        {"partition_index": each.partition_index, "error_code": code}
                        for each in topic.partitions
                    ],
                }
                for topic in request.topics
            ]
        }

    def fetch(request: Any) -> dict[str, Any]:
        offsets = [
            {"partition_index": 0, "committed_offset": 5, "error_code": 0},
            {"partition_index": 1, "committed_offset": -1, "error_code": 0},
        ]
        topics = [{"name": "orders", "partitions": offsets}]
        return {"groups": [{"group_id": "g", "topics": topics, "error_code": 0}]}

    server.answers[ApiKey.FIND_COORDINATOR] = find
    server.answers[ApiKey.OFFSET_COMMIT] = commit
    server.answers[ApiKey.OFFSET_DELETE] = lambda request: {"error_code": 0, **commit(request)}
    server.answers[ApiKey.OFFSET_FETCH] = fetch
    return codes


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("code", [COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR])
async def test_a_coordinator_that_is_not_ready_is_asked_again(
    server: KafkaServer, cluster: Cluster, codes: list[int], code: int
) -> None:
    codes += [code] * 2
    await commit_offsets(cluster, "g", {("orders", 0): 5, ("orders", 1): 6})
    assert len(server.asked(ApiKey.FIND_COORDINATOR)) == 3
    commit = server.asked(ApiKey.OFFSET_COMMIT)[-1]
    assert [each.committed_offset for each in commit.topics[0].partitions] == [5, 6]


async def test_a_refused_partition_is_named(cluster: Cluster, codes: list[int]) -> None:
    codes += [UNKNOWN_MEMBER_ID]
    with pytest.raises(Refused, match="group 'g', partition 0 of topic 'orders'") as refused:
        await commit_offsets(cluster, "g", {("orders", 0): 5})
    assert refused.value.name == "UNKNOWN_MEMBER_ID"


@pytest.mark.usefixtures("codes")
async def test_partitions_without_an_offset_are_left_out(cluster: Cluster) -> None:
    assert await committed_offsets(cluster, "g") == {("orders", 0): 5}


@pytest.mark.usefixtures("codes")
async def test_offsets_are_deleted_by_topic(server: KafkaServer, cluster: Cluster) -> None:
    await delete_offsets(cluster, "g", [("orders", 0), ("bills", 1), ("orders", 2)])
    (request,) = server.asked(ApiKey.OFFSET_DELETE)
    deleted = {
        topic.name: [each.partition_index for each in topic.partitions] for topic in request.topics
    }
    assert deleted == {"orders": [0, 2], "bills": [1]}


async def test_groups_come_sorted(server: KafkaServer, cluster: Cluster) -> None:
    server.answers[ApiKey.LIST_GROUPS] = lambda request: {
        "error_code": 0,
        "groups": [
            {"group_id": name, "protocol_type": "consumer", "group_state": "Empty"}
            for name in ("b", "a")
        ],
    }
    assert [group.id for group in await list_groups(cluster)] == ["a", "b"]
