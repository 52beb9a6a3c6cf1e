"""A blocking SQS client for what surrounds a run: making queues before it, counting after it."""

import json
from collections.abc import Mapping
from typing import Any

from bench.http_line import Line
from bench.http_load import sqs_request
from bench.signature import AccessKey

_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def call(
    address: tuple[str, int],
    action: str,
    fields: Mapping[str, Any],
    key: AccessKey | None = None,
) -> dict[str, Any]:
    """A connection each, since some servers keep none."""
    host, port = address
    with Line(address) as line:
        answer = line.ask(sqs_request(action, fields, host=f"{host}:{port}", key=key))
    parsed: dict[str, Any] = json.loads(answer) if answer else {}
    return parsed


def create_queue(
    address: tuple[str, int],
    name: str,
    attributes: Mapping[str, str] | None = None,
    key: AccessKey | None = None,
) -> str:
    """Its URL."""
    fields = {"QueueName": name, "Attributes": dict(attributes or {})}
    return str(call(address, "CreateQueue", fields, key)["QueueUrl"])


def message_count(address: tuple[str, int], url: str) -> int:
    """Messages that are not deleted, wherever they are."""
    fields = {"QueueUrl": url, "AttributeNames": list(_COUNTS)}
    attributes = call(address, "GetQueueAttributes", fields)["Attributes"]
    return sum(int(attributes[name]) for name in _COUNTS)
