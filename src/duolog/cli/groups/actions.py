"""Actions behind `duolog group ls|info|reset`."""

import time
from typing import NamedTuple

from duolog.cli.consent import has_consent
from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, Row, counted, print_facts, print_one, print_rows, print_table
from duolog.cli.positions import Position, parse_position
from duolog.cli.topics.places import chosen_partitions, resolve
from duolog.client.cluster import Cluster
from duolog.client.errors import Endpoint, Refused
from duolog.client.groups import (
    GroupInfo,
    commit_offsets,
    committed_offsets,
    describe_group,
    list_groups,
)
from duolog.client.offsets import Bounds, TopicPartition, bounds_of

_OFFSET_COLUMNS = ("topic", "partition", "committed_offset", "end_offset", "lag", "member")
_MEMBER_COLUMNS = ("member", "instance", "client", "host", "assignment")
_RESET_COLUMNS = ("topic", "partition", "from_offset", "to_offset", "skipped", "repeated", "reset")


class Selection(NamedTuple):
    topics: frozenset[str]
    """Topics; empty stands for all that the group has committed offsets of."""
    partitions: frozenset[int]
    """Partitions; empty stands for all."""


async def list_all(address: Endpoint, form: Format) -> None:
    async with Cluster(address) as cluster:
        groups = await list_groups(cluster)
    rows = [
        {"group": each.id, "state": each.state, "protocol_type": each.protocol_type}
        for each in groups
    ]
    print_rows(rows, form, ("group", "state", "protocol_type"))


async def info(address: Endpoint, group: str, form: Format) -> None:
    async with Cluster(address) as cluster:
        described = await describe_group(cluster, group)
        committed = await committed_offsets(cluster, group)
        owners = _owners(described)
        # Topics may have been removed since.
        bounds = await bounds_of(cluster, {*committed, *owners}, missing_ok=True)
    offsets = [
        _progress(at, committed.get(at), bounds.get(at), owners.get(at))
        for at in sorted({*committed, *owners})
    ]
    row: Row = {
        "group": described.id,
        "state": described.state,
        "protocol_type": described.protocol_type,
        "protocol": described.protocol,
        "lag": sum(each["lag"] or 0 for each in offsets),
        "offsets": offsets,
        "members": [
            {
                "member": each.id,
                "instance": each.instance_id,
                "client": each.client_id,
                "host": each.host,
                "assignment": {
                    topic: list(partitions) for topic, partitions in each.assignment.items()
                },
            }
            for each in described.members
        ],
    }
    print_one(row, form, _show)


async def reset(
    address: Endpoint,
    group: str,
    to: str,
    selected: Selection,
    form: Format,
    *,
    yes: bool,
    dry_run: bool,
) -> None:
    position = parse_position(to, int(time.time() * 1000))
    async with Cluster(address) as cluster:
        described = await _existing(cluster, group, selected)
        if described is not None and described.members:
            raise Refused("NON_EMPTY_GROUP", f"group '{group}'")
        committed = await committed_offsets(cluster, group)
        targets = await _targets(cluster, committed, position, selected)
        rows = [_change(at, committed.get(at), targets[at]) for at in sorted(targets)]
        skipped = sum(row["skipped"] for row in rows)
        repeated = sum(row["repeated"] for row in rows)
        loss = (
            f"Resetting group '{group}' in {counted(len(rows), 'partition')} skips"
            f" {counted(skipped, 'record')} and repeats {repeated}."
        )
        done = has_consent(group, loss, yes=yes, dry_run=dry_run)
        if done:
            await commit_offsets(cluster, group, targets)
    print_rows([{**row, "reset": done} for row in rows], form, _RESET_COLUMNS)


async def _existing(cluster: Cluster, group: str, selected: Selection) -> GroupInfo | None:
    """A group that is not there yet can be given a place to start, in topics that are named."""
    try:
        return await describe_group(cluster, group)
    except Refused as refusal:
        if refusal.name == "GROUP_ID_NOT_FOUND" and selected.topics:
            return None
        raise


async def _targets(
    cluster: Cluster,
    committed: dict[TopicPartition, int],
    position: Position,
    selected: Selection,
) -> dict[TopicPartition, int]:
    topics = selected.topics or {topic for topic, _ in committed}
    if not topics:
        raise Failure(
            "The group has committed nothing yet. Name topics with --topic.", ExitCode.USAGE
        )
    targets: dict[TopicPartition, int] = {}
    for topic in sorted(topics):
        partitions = await chosen_partitions(cluster, topic, selected.partitions)
        bounds = await bounds_of(cluster, [(topic, each) for each in partitions])
        targets |= await resolve(cluster, position, bounds)
    return targets


def _owners(described: GroupInfo) -> dict[TopicPartition, str]:
    return {
        (topic, partition): member.id
        for member in described.members
        for topic, partitions in member.assignment.items()
        for partition in partitions
    }


def _progress(
    at: TopicPartition, committed: int | None, bounds: Bounds | None, owner: str | None
) -> Row:
    end_offset = None if bounds is None else bounds.end_offset
    lag = None
    if bounds is not None and committed is not None:
        lag = max(bounds.end_offset - max(committed, bounds.start_offset), 0)
    return {
        "topic": at[0],
        "partition": at[1],
        "committed_offset": committed,
        "end_offset": end_offset,
        "lag": lag,
        "member": owner,
    }


def _change(at: TopicPartition, committed: int | None, target: int) -> Row:
    moved = 0 if committed is None else target - committed
    return {
        "topic": at[0],
        "partition": at[1],
        "from_offset": committed,
        "to_offset": target,
        "skipped": max(moved, 0),
        "repeated": max(-moved, 0),
    }


def _show(row: Row) -> None:
    print_facts({name: row[name] for name in ("group", "state", "protocol", "lag")})
    for columns, rows in (
        (_OFFSET_COLUMNS, row["offsets"]),
        (_MEMBER_COLUMNS, row["members"]),
    ):
        if rows:
            print()
            print_table([[each[column] for column in columns] for each in rows], columns)
