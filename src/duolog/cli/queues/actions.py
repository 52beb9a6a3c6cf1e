"""Actions behind `duolog queue create|ls|info|purge|replay|rm`."""

import json
import time
from collections.abc import Mapping
from typing import NamedTuple

from duolog.cli.consent import has_consent
from duolog.cli.failures import ExitCode, Failure
from duolog.cli.given import parse_pairs
from duolog.cli.output import Format, Row, counted, print_facts, print_one, print_rows, print_table
from duolog.cli.positions import parse_position
from duolog.cli.queues.doors import Doors
from duolog.cli.values import likely
from duolog.client.errors import Refused
from duolog.client.operator import QueueDetails, QueueSummary
from duolog.config.queue_attributes import SETTABLE_ATTRIBUTES
from duolog.model.limits import TIMESTAMP_MS_MAX
from duolog.wire.sqs.messages import (
    CreateQueueRequest,
    DeleteQueueRequest,
    PurgeQueueRequest,
)

_FIFO_SUFFIX = ".fifo"
_SOURCE_TOPIC = "duolog:SourceTopic"
_RETAIN_DELETED = "duolog:RetainDeleted"
_COLUMNS = ("name", "kind", "partitions", "ready", "in_flight", "delayed")


class Wanted(NamedTuple):
    """Properties of a new queue."""

    attributes: list[str] | None
    tags: list[str] | None
    dead_letter: str | None
    max_receives: int
    source_topic: str | None


async def create(doors: Doors, name: str, wanted: Wanted, form: Format) -> None:
    attributes = parse_pairs(wanted.attributes, "--attribute")
    tags = parse_pairs(wanted.tags, "--tag")
    if name.endswith(_FIFO_SUFFIX):
        attributes.setdefault("FifoQueue", "true")
    if wanted.source_topic is not None:
        attributes[_SOURCE_TOPIC] = wanted.source_topic
    async with doors.queue_client() as client:
        if wanted.dead_letter is not None:
            policy = {
                "deadLetterTargetArn": await client.arn_of(wanted.dead_letter),
                "maxReceiveCount": str(wanted.max_receives),
            }
            attributes["RedrivePolicy"] = json.dumps(policy)
        request = CreateQueueRequest(name, attributes or None, tags or None)
        try:
            created = await client.call(request, f"queue '{name}'")
        except Refused as refusal:
            raise _mistyped(attributes) or refusal from None
    print_rows([{"name": name, "url": created.queue_url}], form, ("name", "url"))


def _mistyped(given: Mapping[str, str]) -> Failure | None:
    """Suggestion for the first name that is not an attribute; None where none comes close."""
    for name in given:
        if name not in SETTABLE_ATTRIBUTES and (meant := likely(name, SETTABLE_ATTRIBUTES)):
            return Failure(
                f"There is no queue attribute '{name}'. Did you mean '{meant}'?", ExitCode.USAGE
            )
    return None


async def list_all(doors: Doors, prefix: str, form: Format) -> None:
    async with doors.operator_client() as client:
        queues = await client.queues()
    rows = [_summary(each) for each in queues if each.name.startswith(prefix)]
    print_rows(rows, form, _COLUMNS)


async def info(doors: Doors, name: str, form: Format) -> None:
    async with doors.operator_client() as client:
        queue = await client.queue(name)
    row = {
        **_summary(queue),
        "topic": queue.topic,
        "topic_records": queue.topic_records,
        "created_ms": queue.created_ms,
        "oldest_message_age_seconds": queue.oldest_message_age_seconds,
        "attributes": queue.attributes,
        "tags": queue.tags,
    }
    print_one(row, form, _show)


async def purge(doors: Doors, name: str, form: Format, *, yes: bool, dry_run: bool) -> None:
    async with doors.operator_client() as operator, doors.queue_client() as client:
        queue = await operator.queue(name)
        row = _summary(queue)
        row["purged"] = has_consent(name, _loss_of_purge(queue), yes=yes, dry_run=dry_run)
        if row["purged"]:
            url = await client.url_of(name)
            await client.call(PurgeQueueRequest(url), f"queue '{name}'")
    print_rows([row], form, (*_COLUMNS, "purged"))


async def remove(doors: Doors, name: str, form: Format, *, yes: bool, dry_run: bool) -> None:
    async with doors.operator_client() as operator, doors.queue_client() as client:
        queue = await operator.queue(name)
        row = _summary(queue)
        row["removed"] = has_consent(name, _loss_of_removal(queue), yes=yes, dry_run=dry_run)
        if row["removed"]:
            url = await client.url_of(name)
            await client.call(DeleteQueueRequest(url), f"queue '{name}'")
    print_rows([row], form, (*_COLUMNS, "removed"))


async def replay(doors: Doors, name: str, first: str, end: str, form: Format) -> None:
    now_ms = int(time.time() * 1000)
    from_ms, to_ms = _time_ms(first, now_ms), _time_ms(end, now_ms)
    async with doors.operator_client() as client:
        count = await client.replay(name, from_ms, to_ms)
    row = {"name": name, "from_ms": from_ms, "to_ms": to_ms, "messages": count}
    print_rows([row], form, ("name", "messages"))


def _summary(queue: QueueSummary) -> Row:
    return {
        "name": queue.name,
        "kind": queue.kind,
        "partitions": queue.partitions,
        "ready": queue.counts.ready,
        "in_flight": queue.counts.in_flight,
        "delayed": queue.counts.delayed,
    }


def _loss_of_purge(queue: QueueDetails) -> str:
    return f"Purging queue '{queue.name}' deletes {_messages(queue)}. {_way_back(queue)}"


def _way_back(queue: QueueDetails) -> str:
    """Sentence that says how long a replay can deliver the deleted messages again."""
    if topic := queue.attributes.get(_SOURCE_TOPIC):
        return f"The records of topic '{topic}' stay, and a replay can deliver them again."
    if seconds := int(queue.attributes.get(_RETAIN_DELETED, "0")):
        return f"They can be replayed for {seconds} s."
    return (
        "The queue does not retain deleted messages: a replay can bring them back only until"
        " their disk space is freed."
    )


def _loss_of_removal(queue: QueueDetails) -> str:
    loss = f"Removing queue '{queue.name}' loses {_messages(queue, ' for ever')}."
    stays = _what_stays(queue)
    if stays:
        return loss + stays
    return f"{loss} So goes topic '{queue.topic}' with {counted(queue.topic_records, 'record')}."


def _messages(queue: QueueDetails, how_long: str = "") -> str:
    counts = queue.counts
    return (
        f"{counted(counts.total, 'message')}{how_long}: {counts.ready} ready,"
        f" {counts.in_flight} in flight and {counts.delayed} delayed"
    )


def _what_stays(queue: QueueDetails) -> str:
    topic = queue.attributes.get(_SOURCE_TOPIC)
    return f" The records of topic '{topic}' stay." if topic else ""


def _time_ms(text: str, now_ms: int) -> int:
    position = parse_position(text, now_ms)
    match position.kind:
        case "start":
            return 0
        case "end":
            # Not now: the node's clock may be ahead of this one.
            return TIMESTAMP_MS_MAX
        case "time":
            return position.value
        case "offset":
            raise Failure(
                f"A replay goes by time, and '{text}' is an offset. Give start, end or @-1h.",
                ExitCode.USAGE,
            )


def _show(row: Row) -> None:
    tables = {"attributes": row["attributes"], "tags": row["tags"]}
    print_facts({name: value for name, value in row.items() if name not in tables})
    for title, values in tables.items():
        if values:
            print()
            print_table(sorted(values.items()), (title.removesuffix("s"), "value"))
