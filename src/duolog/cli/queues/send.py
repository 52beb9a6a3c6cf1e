"""Action behind `duolog queue send`: sends the lines of each read of stdin in batches of ten."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.given import parse_pairs
from duolog.cli.lines import read_lines
from duolog.cli.output import Format, RowStream, counted, tell
from duolog.cli.queues.doors import Doors
from duolog.client.queues import QueueClient
from duolog.wire.sqs.messages import (
    BatchResultErrorEntry,
    MessageAttributeValue,
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
    SendMessageBatchResult,
    SendMessageBatchResultEntry,
)

ENTRIES_PER_BATCH_MAX = 10
FIFO_SUFFIX = ".fifo"
BATCH_BYTES_MAX = 1 << 20
"""Limit of bodies and attributes together, as in SQS."""

_COLUMNS = {"id": 36, "sequence_number": 20}


@dataclass(frozen=True, slots=True)
class Template:
    """Properties shared by all messages of one command."""

    group: str | None
    dedup: str | None
    delay_seconds: int | None
    attributes: dict[str, str]

    @classmethod
    def parse(
        cls,
        group: str | None,
        dedup: str | None,
        delay_seconds: int | None,
        attributes: list[str] | None,
    ) -> "Template":
        return cls(group, dedup, delay_seconds, parse_pairs(attributes, "--attribute"))

    @property
    def attribute_bytes(self) -> int:
        return sum(
            len(name.encode()) + len("String") + len(value.encode())
            for name, value in self.attributes.items()
        )

    def entry(self, entry_id: str, body: str) -> SendMessageBatchRequestEntry:
        attributes = {
            name: MessageAttributeValue("String", value) for name, value in self.attributes.items()
        }
        return SendMessageBatchRequestEntry(
            id=entry_id,
            message_body=body,
            delay_seconds=self.delay_seconds,
            message_attributes=attributes or None,
            message_deduplication_id=self.dedup,
            message_group_id=self.group,
        )


def send(
    doors: Doors, name: str, bodies: list[str] | None, template: Template, form: Format
) -> None:
    """Not one long coroutine: reading a terminal would block it, and cannot be cancelled."""
    if name.endswith(FIFO_SUFFIX) and template.group is None:
        raise Failure(
            f"Queue '{name}' is a FIFO queue, whose messages need a group. Name one with --group.",
            ExitCode.USAGE,
        )
    count = 0
    refused: list[BatchResultErrorEntry] = []
    client = doors.queue_client()
    with asyncio.Runner() as runner, closing(client):
        url = runner.run(client.url_of(name))
        with RowStream(form, _COLUMNS) as rows:
            for batch in _batches([bodies] if bodies else _texts(), template):
                if template.dedup is not None and count + len(batch) > 1:
                    raise Failure(
                        "--dedup would make all but one of these messages disappear."
                        " Send them one by one, each with its own.",
                        ExitCode.USAGE,
                    )
                result = runner.run(_send(client, url, name, batch, template))
                for entry in result.successful:
                    rows.write(_row(name, entry))
                count += len(result.successful)
                refused += result.failed
    tell(f"{counted(count, 'message')} sent to queue '{name}'.")
    if refused:
        reason = refused[0].message or refused[0].code
        raise Failure(
            f"Of the messages, {len(refused)} were refused: {reason.rstrip('.')}."
            " Correct them and send them again.",
            ExitCode.FAILED,
        )


async def _send(
    client: QueueClient, url: str, name: str, bodies: list[str], template: Template
) -> SendMessageBatchResult:
    entries = [template.entry(str(at), body) for at, body in enumerate(bodies)]
    request = SendMessageBatchRequest(url, entries)
    result: SendMessageBatchResult = await client.call(request, f"queue '{name}'")
    result.successful.sort(key=lambda entry: int(entry.id))
    return result


def _row(name: str, entry: SendMessageBatchResultEntry) -> dict[str, str | None]:
    return {
        "queue": name,
        "id": entry.message_id,
        "sequence_number": entry.sequence_number,
        "body_md5": entry.md5_of_message_body,
    }


def _texts() -> Iterator[list[str]]:
    for lines in read_lines("a message"):
        try:
            yield [line.decode() for line in lines]
        except UnicodeDecodeError:
            raise Failure(
                "A line is not UTF-8, which messages of a queue are. Send it to its topic"
                " with `duolog topic produce`.",
                ExitCode.USAGE,
            ) from None


def _batches(given: Iterable[list[str]], template: Template) -> Iterator[list[str]]:
    """Cut the lines of each read into batches that SQS accepts."""
    overhead = template.attribute_bytes
    for bodies in given:
        batch: list[str] = []
        size = 0
        for body in bodies:
            body_bytes = len(body.encode()) + overhead
            if batch and (
                len(batch) == ENTRIES_PER_BATCH_MAX or size + body_bytes > BATCH_BYTES_MAX
            ):
                yield batch
                batch, size = [], 0
            batch.append(body)
            size += body_bytes
        if batch:
            yield batch
