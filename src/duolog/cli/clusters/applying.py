"""`duolog cluster apply`: does what a file of advice says, after showing it."""

import re
from pathlib import Path

from duolog.cli.consent import has_consent
from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, Row, counted, print_rows, tell
from duolog.client.cluster import Cluster
from duolog.client.metadata import TopicInfo
from duolog.client.placement import create_partitions, move_partition
from duolog.config.address import Address
from duolog.config.unreadable import unreadable
from duolog.model.advice import Action, AddPartitions, Advice, decode_advice

ACTIONS_MAX = 10_000
_COLUMNS = ("action", "topic", "partition", "from", "to", "state", "reason")
_PLACE = re.compile(r"at `(\$[^`]*)`")
"""Where in a document msgspec found something wrong; its other words are for programmers."""
_TO_DO, _DONE, _HAS_BEEN = "to do", "done", "is so already"


async def apply(kafka: Address, file: Path, output: Format, *, yes: bool, dry_run: bool) -> None:
    advice = read_advice(file)
    async with Cluster(kafka) as cluster:
        names = sorted({each.topic for each in advice.actions})
        topics = (await cluster.metadata(names)).topics if names else {}
        rows = [planned(each, topics[each.topic]) for each in advice.actions]
        todo = [
            (row, action)
            for row, action in zip(rows, advice.actions, strict=True)
            if row["state"] == _TO_DO
        ]
        if todo:
            for row, _ in todo:
                tell(_sentence(row))
            loss = (
                f"{counted(len(todo), 'change')} of {file.name}. Partitions that are added cannot"
                " be removed again, and keys may go to others than before."
            )
            if has_consent(file.name, loss, yes=yes, dry_run=dry_run):
                for row, action in todo:
                    await _perform(cluster, action)
                    row["state"] = _DONE
        print_rows(rows, output, _COLUMNS)
    if not todo:
        tell("Everything is so already.")


def read_advice(file: Path) -> Advice:
    try:
        advice = decode_advice(file.read_bytes())
    except OSError as error:
        raise Failure(unreadable(file, error), ExitCode.USAGE) from None
    except ValueError as error:
        place = _PLACE.search(str(error))
        where = f": something is wrong at {place[1]}" if place else ""
        raise Failure(
            f"{file} holds no advice{where}. Give the file that the pipeline load made.",
            ExitCode.USAGE,
        ) from None
    if len(advice.actions) > ACTIONS_MAX:
        raise Failure(
            f"{file} has {len(advice.actions)} actions, and {ACTIONS_MAX} are the most. Split it.",
            ExitCode.USAGE,
        )
    return advice


def planned(action: Action, topic: TopicInfo) -> Row:
    """The change that an action would make, as a row. Failure if the topic lacks the partition."""
    count = len(topic.partitions)
    if isinstance(action, AddPartitions):
        is_so = action.partitions <= count
        return {
            "action": "add_partitions",
            "topic": topic.name,
            "partition": None,
            "from": count,
            "to": action.partitions,
            "state": _HAS_BEEN if is_so else _TO_DO,
            "reason": action.reason,
        }
    if not 0 <= action.partition < count:
        raise Failure(
            f"Topic '{topic.name}' has no partition {action.partition}. Run the pipeline load"
            " again: the file is not of this cluster.",
            ExitCode.NOT_FOUND,
        )
    replicas = list(topic.partitions[action.partition].replicas)
    return {
        "action": "move_partition",
        "topic": topic.name,
        "partition": action.partition,
        "from": replicas,
        "to": action.replicas,
        "state": _HAS_BEEN if replicas == action.replicas else _TO_DO,
        "reason": action.reason,
    }


def _sentence(row: Row) -> str:
    because = f": {row['reason']}" if row["reason"] else ""
    if row["action"] == "add_partitions":
        return (
            f"topic '{row['topic']}' gets {row['to']} partitions instead of {row['from']}{because}"
        )
    return (
        f"partition {row['partition']} of topic '{row['topic']}' goes from nodes"
        f" {row['from']} to {row['to']}{because}"
    )


async def _perform(cluster: Cluster, action: Action) -> None:
    if isinstance(action, AddPartitions):
        await create_partitions(cluster, action.topic, action.partitions)
    else:
        await move_partition(cluster, action.topic, action.partition, action.replicas)
