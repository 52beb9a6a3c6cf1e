"""Action behind `duolog queue receive`."""

import base64
import math
import sys
import time
from typing import NamedTuple

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, Row, RowStream
from duolog.cli.queues.doors import Doors
from duolog.client.queues import QueueClient
from duolog.wire.sqs.messages import (
    DeleteMessageBatchRequest,
    DeleteMessageBatchRequestEntry,
    Message,
    MessageAttributeValue,
    ReceiveMessageRequest,
)

MESSAGES_PER_CALL_MAX = 10
WAIT_SECONDS_PER_CALL_MAX = 20
_ANSWER_SECONDS_MAX = 30.0
_COLUMNS = {"id": 36, "receive_count": 13, "group_id": 12, "body": 0}


class Wanted(NamedTuple):
    count_max: int
    wait_seconds: float
    visibility_seconds: int | None
    delete: bool


async def receive(doors: Doors, name: str, wanted: Wanted, form: Format) -> None:
    deadline = time.monotonic() + wanted.wait_seconds
    left = wanted.count_max
    async with doors.queue_client() as client:
        url = await client.url_of(name)
        with RowStream(form, _COLUMNS) as rows:
            while left > 0:
                remaining = max(deadline - time.monotonic(), 0)
                messages = await _receive(client, url, name, left, remaining, wanted)
                for message in messages:
                    rows.write(_row(name, message))
                # Messages must have left this process before they are deleted.
                sys.stdout.flush()
                if wanted.delete and messages:
                    await _delete(client, url, name, messages)
                left -= len(messages)
                if not messages and time.monotonic() >= deadline:
                    return


async def _receive(
    client: QueueClient, url: str, name: str, count: int, seconds: float, wanted: Wanted
) -> list[Message]:
    wait_seconds = min(math.ceil(seconds), WAIT_SECONDS_PER_CALL_MAX)
    request = ReceiveMessageRequest(
        queue_url=url,
        message_system_attribute_names=["All"],
        message_attribute_names=["All"],
        max_number_of_messages=min(count, MESSAGES_PER_CALL_MAX),
        visibility_timeout=wanted.visibility_seconds,
        wait_time_seconds=wait_seconds,
    )
    seconds_max = wait_seconds + _ANSWER_SECONDS_MAX
    result = await client.call(request, f"queue '{name}'", seconds_max=seconds_max)
    return result.messages or []


async def _delete(client: QueueClient, url: str, name: str, messages: list[Message]) -> None:
    entries = [
        DeleteMessageBatchRequestEntry(str(at), message.receipt_handle or "")
        for at, message in enumerate(messages)
    ]
    result = await client.call(DeleteMessageBatchRequest(url, entries), f"queue '{name}'")
    if result.failed:
        first = result.failed[0]
        raise Failure(
            f"Of the messages, {len(result.failed)} could not be deleted:"
            f" {(first.message or first.code).rstrip('.')}. They will be delivered again.",
            ExitCode.FAILED,
        )


def _row(name: str, message: Message) -> Row:
    system = message.attributes or {}
    return {
        "queue": name,
        "id": message.message_id,
        "receipt_handle": message.receipt_handle,
        "receive_count": _number(system.get("ApproximateReceiveCount")),
        "sent_ms": _number(system.get("SentTimestamp")),
        "first_received_ms": _number(system.get("ApproximateFirstReceiveTimestamp")),
        "group_id": system.get("MessageGroupId"),
        "deduplication_id": system.get("MessageDeduplicationId"),
        "sequence_number": system.get("SequenceNumber"),
        "attributes": {
            attribute: {"type": value.data_type, "value": _text(value)}
            for attribute, value in (message.message_attributes or {}).items()
        },
        "body": message.body,
    }


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _text(value: MessageAttributeValue) -> str:
    """The value as text; binary ones in base64, as on the wire."""
    if value.binary_value is not None:
        return base64.b64encode(value.binary_value).decode()
    return value.string_value or ""
