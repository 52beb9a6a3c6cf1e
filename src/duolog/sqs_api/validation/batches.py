"""Limits of batches: the number of entries, their total size, and distinct ids."""

from collections.abc import Sequence
from typing import Protocol

from duolog.model.queue_errors import (
    BatchEntryIdsNotDistinct,
    BatchRequestTooLong,
    EmptyBatchRequest,
    InvalidBatchEntryId,
    TooManyEntriesInBatchRequest,
)
from duolog.sqs_api.validation.identifiers import are_entry_ids

ENTRIES_MAX = 10
BATCH_BYTES_MAX = 1_048_576
"""Limit of a batch's total size, whatever the queue's maximum for one message."""


class Entry(Protocol):
    @property
    def id(self) -> str: ...


def checked_ids(entries: Sequence[Entry]) -> list[str]:
    """The ids of a batch's entries, checked to be valid and distinct."""
    if not entries:
        raise EmptyBatchRequest("There should be at least one entry in the request.")
    if len(entries) > ENTRIES_MAX:
        raise TooManyEntriesInBatchRequest(
            f"Maximum number of entries per request are {ENTRIES_MAX}."
            f" You have sent {len(entries)}."
        )
    ids = [entry.id for entry in entries]
    if not are_entry_ids(ids):
        raise InvalidBatchEntryId(
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores."
            " It can be at most 80 letters long."
        )
    if len(set(ids)) < len(ids):
        repeated = next(each for place, each in enumerate(ids) if each in ids[:place])
        raise BatchEntryIdsNotDistinct(f"Id {repeated} repeated.")
    return ids


def check_batch_size(size: int) -> None:
    if size > BATCH_BYTES_MAX:
        raise BatchRequestTooLong(
            f"Batch requests cannot be longer than {BATCH_BYTES_MAX} bytes."
            f" You have sent {size} bytes."
        )
