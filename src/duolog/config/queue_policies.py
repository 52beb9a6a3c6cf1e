"""Queue attributes that are JSON documents: redrive and redrive-allow policies, access policy.

Pure. Refusals use Amazon SQS's own texts, which people search for.
"""

from typing import Any, Literal, NamedTuple, get_args

import msgspec

from duolog.model.names import parse_queue_arn
from duolog.model.queue_errors import InvalidAttributeValue, InvalidParameterValue

DOCUMENT_BYTES_MAX = 8_192
"""Limit of a document: that of a policy in SQS; the other documents are far smaller."""

RECEIVE_COUNT_MAX = 1_000
SOURCE_QUEUES_MAX = 10

RedrivePermission = Literal["allowAll", "denyAll", "byQueue"]

_PERMISSIONS = get_args(RedrivePermission)


class RedrivePolicy(NamedTuple):
    """Dead-letter queue for messages that were received too often without being deleted."""

    dead_letter_arn: str
    dead_letter_queue: str
    """Name of the queue in that ARN."""
    max_receive_count: int
    """Number of receives after which a message moves, once it becomes visible again."""

    def __str__(self) -> str:
        return _text(
            {
                "deadLetterTargetArn": self.dead_letter_arn,
                "maxReceiveCount": self.max_receive_count,
            }
        )


class RedriveAllowPolicy(NamedTuple):
    """Queues that may name this one as their dead-letter queue."""

    permission: RedrivePermission
    source_arns: tuple[str, ...] = ()

    def permits(self, queue: str) -> bool:
        """True if the queue of this name may send its dead letters here."""
        return self.permission == "allowAll" or queue in map(parse_queue_arn, self.source_arns)

    def __str__(self) -> str:
        document: dict[str, Any] = {"redrivePermission": self.permission}
        if self.source_arns:
            document["sourceQueueArns"] = self.source_arns
        return _text(document)


def parse_redrive_policy(text: str) -> RedrivePolicy:
    document = _object(text)
    if document is None:
        raise unfit_redrive(text, "Redrive policy is not a valid JSON map.")
    for member in ("deadLetterTargetArn", "maxReceiveCount"):
        if member not in document:
            raise unfit_redrive(
                text, f"Redrive policy does not contain mandatory attribute: {member}."
            )
    arn, count = document["deadLetterTargetArn"], document["maxReceiveCount"]
    queue = _queue_in(arn)
    if queue is None:
        raise unfit_redrive(text, "Invalid value for deadLetterTargetArn.")
    max_receive_count = _count(count)
    if max_receive_count is None or not 1 <= max_receive_count <= RECEIVE_COUNT_MAX:
        raise unfit_redrive(
            text,
            f"Invalid value for maxReceiveCount: {count}, valid values are from 1 to"
            f" {RECEIVE_COUNT_MAX} both inclusive.",
        )
    return RedrivePolicy(arn, queue, max_receive_count)


def parse_redrive_allow_policy(text: str) -> RedriveAllowPolicy:
    document = _object(text)
    if document is None:
        raise _unfit_allow(text, "Redrive allow policy is not a valid JSON map.")
    permission: Any = document.get("redrivePermission")
    if permission not in _PERMISSIONS:
        raise _unfit_allow(text, f"redrivePermission must be one of {', '.join(_PERMISSIONS)}.")
    arns = document.get("sourceQueueArns", [])
    if not isinstance(arns, list) or any(_queue_in(arn) is None for arn in arns):
        raise _unfit_allow(text, "sourceQueueArns must be a list of the ARNs of queues.")
    if permission == "byQueue" and not 1 <= len(arns) <= SOURCE_QUEUES_MAX:
        raise _unfit_allow(
            text, f"byQueue needs 1 to {SOURCE_QUEUES_MAX} queues in sourceQueueArns."
        )
    if permission != "byQueue" and arns:
        raise _unfit_allow(text, "sourceQueueArns can be given with byQueue only.")
    return RedriveAllowPolicy(permission, tuple(arns))


def parse_access_policy(text: str) -> str:
    """The policy as it was written, which is how it is stored and shown."""
    if _object(text) is None:
        raise InvalidAttributeValue("Invalid value for the parameter Policy.")
    return text


def unfit_redrive(text: str, reason: str) -> InvalidParameterValue:
    return _unfit("RedrivePolicy", text, reason)


def _unfit_allow(text: str, reason: str) -> InvalidParameterValue:
    return _unfit("RedriveAllowPolicy", text, reason)


def _unfit(name: str, text: str, reason: str) -> InvalidParameterValue:
    return InvalidParameterValue(f"Value {text} for parameter {name} is invalid. Reason: {reason}")


def _object(text: str) -> dict[str, Any] | None:
    try:
        data = text.encode()
        document = msgspec.json.decode(data) if len(data) <= DOCUMENT_BYTES_MAX else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _queue_in(arn: object) -> str | None:
    try:
        return parse_queue_arn(arn) if isinstance(arn, str) else None
    except InvalidParameterValue:
        return None


def _count(value: object) -> int | None:
    """Whole number, which may be written as text; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return None


def _text(document: dict[str, Any]) -> str:
    return msgspec.json.encode(document).decode()
