"""AddPermission and RemovePermission, as edits of the queue's policy document.

The document is the queue's `Policy` attribute: permissions show there, and statements written there
can be removed by their label.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from duolog.model.queue_errors import InvalidParameterValue, MissingParameter, OverLimit

ACTIONS_PER_STATEMENT_MAX = 7
STATEMENTS_MAX = 20

_ACTIONS = frozenset(
    (
        "*",
        "ChangeMessageVisibility",
        "DeleteMessage",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
        "ReceiveMessage",
        "SendMessage",
    )
)
"""Actions that can be permitted to other accounts; the rest is reserved to the queue's owner."""

_label = re.compile(r"[A-Za-z0-9_-]{1,80}\Z").match
_account_id = re.compile(r"[0-9]{12}\Z").match


def check_permission(label: str, account_ids: Sequence[str], actions: Sequence[str]) -> None:
    if not _label(label):
        raise _invalid(
            "Label",
            label,
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.",
        )
    if not account_ids:
        raise MissingParameter("The request must contain the parameter AWSAccountIds.")
    if not actions:
        raise MissingParameter("The request must contain the parameter Actions.")
    if len(actions) > ACTIONS_PER_STATEMENT_MAX:
        raise OverLimit(
            f"{len(actions)} Actions were found, maximum allowed is {ACTIONS_PER_STATEMENT_MAX}."
        )
    for account_id in account_ids:
        if not _account_id(account_id):
            raise _invalid("PrincipalId", account_id, "Unable to verify.")
    for action in actions:
        if action not in _ACTIONS:
            raise _invalid(
                "ActionName",
                f"SQS:{action}",
                f"Only these can be permitted to others: {', '.join(sorted(_ACTIONS))}.",
            )


def with_permission(
    policy: str, arn: str, label: str, account_ids: Sequence[str], actions: Sequence[str]
) -> str:
    """The policy with one more statement; an empty text stands for no policy."""
    document = _document(policy) or {
        "Version": "2008-10-17",
        "Id": f"{arn}/SQSDefaultPolicy",
        "Statement": [],
    }
    statements = _statements(document)
    if any(_is_labelled(statement, label) for statement in statements):
        raise _invalid("Label", label, "Already exists.")
    if len(statements) >= STATEMENTS_MAX:
        raise OverLimit(f"A policy has at most {STATEMENTS_MAX} statements.")
    statement = {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": _one_or_all([f"arn:aws:iam::{id}:root" for id in account_ids])},
        "Action": _one_or_all([f"SQS:{action}" for action in actions]),
        "Resource": arn,
    }
    return _text({**document, "Statement": [*statements, statement]})


def without_permission(policy: str, label: str) -> str:
    """The policy without the labelled statement; an empty text when none is left."""
    document = _document(policy)
    statements = _statements(document)
    kept = [statement for statement in statements if not _is_labelled(statement, label)]
    if len(kept) == len(statements):
        raise _invalid("Label", label, "can't find label.")
    return _text({**document, "Statement": kept}) if kept else ""


def _document(policy: str) -> dict[str, Any]:
    document = msgspec.json.decode(policy) if policy else {}
    return document if isinstance(document, dict) else {}


def _statements(document: dict[str, Any]) -> list[Any]:
    """The document's statements, as a list even where a single one stands without it."""
    statements = document.get("Statement", [])
    return statements if isinstance(statements, list) else [statements]


def _is_labelled(statement: Any, label: str) -> bool:
    return isinstance(statement, dict) and statement.get("Sid") == label


def _one_or_all(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values


def _text(document: dict[str, Any]) -> str:
    return msgspec.json.encode(document).decode()


def _invalid(parameter: str, value: str, reason: str) -> InvalidParameterValue:
    return InvalidParameterValue(
        f"Value {value} for parameter {parameter} is invalid. Reason: {reason}"
    )
