"""Consumer groups: listing, members and their assignments, committed offsets."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from duolog.client.assignment import assigned_partitions
from duolog.client.cluster import Cluster
from duolog.client.errors import check
from duolog.client.offsets import TopicPartition
from duolog.wire.kafka.apis import ApiKey

_NO_MEMBER = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}


class GroupListing(NamedTuple):
    id: str
    protocol_type: str
    """`consumer`; empty for a group that has committed offsets but no members."""
    state: str


class Member(NamedTuple):
    id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: Mapping[str, tuple[int, ...]]


class GroupInfo(NamedTuple):
    id: str
    protocol_type: str
    protocol: str
    state: str
    members: tuple[Member, ...]


async def list_groups(cluster: Cluster) -> list[GroupListing]:
    """Groups of all brokers, sorted by id."""
    answers = await asyncio.gather(
        *(_list_of_broker(cluster, node) for node in await cluster.brokers())
    )
    return sorted(group for groups in answers for group in groups)


async def describe_group(cluster: Cluster, group: str) -> GroupInfo:
    response = await _ask_coordinator(
        cluster, group, ApiKey.DESCRIBE_GROUPS, {"groups": [group]}, _described
    )
    return GroupInfo(
        response.group_id,
        response.protocol_type,
        response.protocol_data,
        response.group_state,
        tuple(
            Member(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                assigned_partitions(each.member_assignment),
            )
            for each in response.members
        ),
    )


async def committed_offsets(cluster: Cluster, group: str) -> dict[TopicPartition, int]:
    """All offsets that the group has committed."""
    fields = {"groups": [{"group_id": group, "topics": None}], "require_stable": True}
    answered = await _ask_coordinator(cluster, group, ApiKey.OFFSET_FETCH, fields, _offsets)
    offsets = {}
    for topic in answered.topics:
        for each in topic.partitions:
            check(each.error_code, f"partition {each.partition_index} of topic '{topic.name}'")
            if each.committed_offset >= 0:
                offsets[topic.name, each.partition_index] = each.committed_offset
    return offsets


async def commit_offsets(
    cluster: Cluster, group: str, offsets: Mapping[TopicPartition, int]
) -> None:
    """Commits as no member of the group; refused unless the group is empty."""
    topics = [
        {
            "name": topic,
            "partitions": [
                {
                    "partition_index": partition,
                    "committed_offset": offsets[topic, partition],
                    "committed_leader_epoch": -1,
                    "committed_metadata": "",
                }
                for partition in partitions
            ],
        }
        for topic, partitions in _by_topic(offsets).items()
    ]
    fields = {"group_id": group, **_NO_MEMBER, "topics": topics}
    await _ask_coordinator(cluster, group, ApiKey.OFFSET_COMMIT, fields, _all_partitions)


async def delete_offsets(
    cluster: Cluster, group: str, partitions: Collection[TopicPartition]
) -> None:
    """Deletes the group's committed offsets of these partitions."""
    topics = [
        {"name": topic, "partitions": [{"partition_index": each} for each in indexes]}
        for topic, indexes in _by_topic(partitions).items()
    ]
    fields = {"group_id": group, "topics": topics}
    await _ask_coordinator(cluster, group, ApiKey.OFFSET_DELETE, fields, _deleted_offsets)


async def _list_of_broker(cluster: Cluster, node: int) -> list[GroupListing]:
    async def attempt() -> list[GroupListing]:
        response = await cluster.call(ApiKey.LIST_GROUPS, {"states_filter": []}, node=node)
        check(response.error_code, f"the groups of node {node}")
        return [
            GroupListing(each.group_id, each.protocol_type, each.group_state)
            for each in response.groups
        ]

    return await cluster.retry(attempt)


async def _ask_coordinator(
    cluster: Cluster, group: str, api_key: ApiKey, fields: Mapping[str, Any], read: Any
) -> Any:
    """Asks the group's coordinator, with retries; `read` extracts the result or raises Refused."""

    async def attempt() -> Any:
        node = await cluster.coordinator(group)
        return read(await cluster.call(api_key, fields, node=node), f"group '{group}'")

    return await cluster.retry(attempt)


def _described(response: Any, subject: str) -> Any:
    (described,) = response.groups
    check(described.error_code, subject, described.error_message)
    return described


def _offsets(response: Any, subject: str) -> Any:
    (answered,) = response.groups
    check(answered.error_code, subject)
    return answered


def _all_partitions(response: Any, subject: str) -> None:
    for topic in response.topics:
        for each in topic.partitions:
            where = f"partition {each.partition_index} of topic '{topic.name}'"
            check(each.error_code, f"{subject}, {where}")


def _deleted_offsets(response: Any, subject: str) -> None:
    check(response.error_code, subject)
    _all_partitions(response, subject)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    indexes: dict[str, list[int]] = {}
    for topic, partition in partitions:
        indexes.setdefault(topic, []).append(partition)
    return indexes
