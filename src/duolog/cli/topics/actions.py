"""Actions behind `duolog topic create|ls|info|rm`."""

import asyncio
from typing import Any

from duolog.cli.consent import has_consent
from duolog.cli.failures import ExitCode, Failure
from duolog.cli.given import parse_pairs
from duolog.cli.output import Format, Row, counted, print_facts, print_one, print_rows, print_table
from duolog.client.cluster import Cluster
from duolog.client.errors import Endpoint, Refused
from duolog.client.metadata import TopicInfo
from duolog.client.offsets import Bounds, TopicPartition, bounds_of
from duolog.client.topics import UNSAID, create_topic, delete_topic, topic_configs

_PARTITION_COLUMNS = ("partition", "leader", "replicas", "in_sync", "start_offset", "end_offset")


async def create(
    address: Endpoint, name: str, partitions: int | None, settings: list[str] | None, form: Format
) -> None:
    configs = parse_pairs(settings, "--set")
    async with Cluster(address) as cluster:
        count = await create_topic(cluster, name, partitions or UNSAID, configs)
    print_rows([{"name": name, "partitions": count}], form, ("name", "partitions"))


async def list_all(address: Endpoint, with_internal: bool, form: Format) -> None:
    async with Cluster(address) as cluster:
        topics = (await cluster.metadata()).topics.values()
        shown = [each for each in topics if with_internal or not each.is_internal]
        shown.sort(key=lambda topic: topic.name)
        # One that is removed meanwhile counts as empty.
        bounds = await bounds_of(cluster, _partitions(*shown), missing_ok=True)
        rows = [_summary(topic, bounds) for topic in shown]
    print_rows(rows, form, ("name", "partitions", "records"))


async def info(address: Endpoint, name: str, form: Format) -> None:
    async with Cluster(address) as cluster:
        topic = (await cluster.metadata([name])).topics[name]
        bounds, configs = await asyncio.gather(
            bounds_of(cluster, _partitions(topic)), topic_configs(cluster, name)
        )
    row: Row = {
        "name": topic.name,
        "id": None if topic.id is None else str(topic.id),
        "internal": topic.is_internal,
        "records": _record_count(topic, bounds),
        "partitions": [
            {
                "partition": each.partition,
                "leader": each.leader,
                "replicas": list(each.replicas),
                "in_sync": list(each.in_sync),
                "start_offset": bounds[name, each.partition].start_offset,
                "end_offset": bounds[name, each.partition].end_offset,
            }
            for each in topic.partitions
        ],
        "settings": {
            setting: {"value": entry.value, "own": entry.is_own}
            for setting, entry in configs.items()
        },
    }
    print_one(row, form, _show)


async def remove(address: Endpoint, name: str, form: Format, *, yes: bool, dry_run: bool) -> None:
    async with Cluster(address) as cluster:
        topic = (await cluster.metadata([name])).topics[name]
        row = _summary(topic, await bounds_of(cluster, _partitions(topic)))
        loss = (
            f"Removing topic '{name}' loses {counted(row['records'], 'record')} in"
            f" {counted(row['partitions'], 'partition')} for ever."
        )
        row["removed"] = has_consent(name, loss, yes=yes, dry_run=dry_run)
        if row["removed"]:
            await _delete(cluster, name)
    print_rows([row], form, ("name", "partitions", "records", "removed"))


async def _delete(cluster: Cluster, name: str) -> None:
    try:
        await delete_topic(cluster, name)
    except Refused as refused:
        if refused.name != "POLICY_VIOLATION":
            raise
        raise Failure(
            f"It cannot be removed: {refused.message}. Remove the queue with `duolog queue rm`.",
            ExitCode.NOT_ALLOWED,
        ) from None


def _partitions(*topics: TopicInfo) -> list[TopicPartition]:
    return [(topic.name, each.partition) for topic in topics for each in topic.partitions]


def _record_count(topic: TopicInfo, bounds: dict[TopicPartition, Bounds]) -> int:
    """Number of offsets; compaction leaves gaps that only reading would find."""
    return sum(bounds[at].offset_count for at in _partitions(topic) if at in bounds)


def _summary(topic: TopicInfo, bounds: dict[TopicPartition, Bounds]) -> dict[str, Any]:
    return {
        "name": topic.name,
        "internal": topic.is_internal,
        "partitions": len(topic.partitions),
        "records": _record_count(topic, bounds),
    }


def _show(row: Row) -> None:
    """Settings that were not set on this topic are the node's: `-o json` has them, too."""
    print_facts({name: row[name] for name in ("name", "id", "internal", "records")})
    print()
    cells = [[each[column] for column in _PARTITION_COLUMNS] for each in row["partitions"]]
    print_table(cells, _PARTITION_COLUMNS)
    own = {name: entry["value"] for name, entry in row["settings"].items() if entry["own"]}
    if own:
        print()
        print_table(list(own.items()), ("setting", "value"))
