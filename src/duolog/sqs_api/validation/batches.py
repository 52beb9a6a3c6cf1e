"""Batches: how many entries they have, and that their ids tell them apart."""

from collections.abc import Sequence
from typing import Protocol

from duolog.model.queue_errors import (
    BatchEntryIdsNotDistinct,
    BatchRequestTooLong,
    EmptyBatchRequest,
    TooManyEntriesInBatchRequest,
)
from duolog.sqs_api.validation.identifiers import check_entry_id

ENTRIES_MAX = 10
BATCH_BYTES_MAX = 1_048_576
"""Whatever the queue's own maximum for one message."""


class Entry(Protocol):
    @property
    def id(self) -> str: ...


def check_entries(entries: Sequence[Entry]) -> None:
    if not entries:
        raise EmptyBatchRequest("There should be at least one entry in the request.")
    if len(entries) > ENTRIES_MAX:
        raise TooManyEntriesInBatchRequest(
            f"Maximum number of entries per request are {ENTRIES_MAX}."
            f" You have sent {len(entries)}."
        )
    seen = set()
    for entry in entries:
        check_entry_id(entry.id)
        if entry.id in seen:
            raise BatchEntryIdsNotDistinct(f"Id {entry.id} repeated.")
        seen.add(entry.id)


def check_batch_size(size: int) -> None:
    if size > BATCH_BYTES_MAX:
        raise BatchRequestTooLong(
            f"Batch requests cannot be longer than {BATCH_BYTES_MAX} bytes."
            f" You have sent {size} bytes."
        )
