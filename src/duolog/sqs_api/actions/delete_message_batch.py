"""DeleteMessageBatch: up to ten messages are done, each with its own result."""

from collections.abc import Sequence
from functools import partial

from duolog.broker.queues.queue import Queue
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.sqs_api.answers import Answer
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.faults import error_entry
from duolog.sqs_api.usage import count_entries
from duolog.sqs_api.validation.batches import checked_ids
from duolog.wire.sqs.messages import (
    DeleteMessageBatchRequest,
    DeleteMessageBatchResult,
    DeleteMessageBatchResultEntry,
)

Taken = tuple[Answer, Sequence[str]]
"""A request that is served together with others, and the ids of its entries."""


def handle(
    context: Context, request: DeleteMessageBatchRequest, done: Done[DeleteMessageBatchResult]
) -> None:
    queue = context.queue(request.queue_url)
    tally = context.usage[request.queue_url].deleted
    ids = checked_ids(request.entries)

    def deleted(results: list[Refusal | None] | Refusal) -> None:
        if isinstance(results, Refusal):
            tally.fail()
            done(results)
        else:
            done(_counted(tally, ids, results))

    queue.delete([entry.receipt_handle for entry in request.entries], deleted)


def handle_together(context: Context, queue: Queue, answers: list[Answer]) -> list[Answer]:
    taken: list[Taken] = []
    left: list[Answer] = []
    handles: list[str] = []
    for answer in answers:
        entries = answer.asked.entries
        try:
            taken.append((answer, checked_ids(entries)))
        except Refusal:
            left.append(answer)
        else:
            handles += [entry.receipt_handle for entry in entries]
    if taken:
        tally = context.usage[answers[0].asked.queue_url].deleted
        queue.delete(handles, partial(_deleted, tally, taken))
    return left


def _deleted(tally: Tally, taken: list[Taken], results: list[Refusal | None] | Refusal) -> None:
    if isinstance(results, Refusal):
        for answer, _ in taken:
            tally.fail()
            answer.done(results)
        return
    told = []
    first = 0
    for _, ids in taken:
        last = first + len(ids)
        told.append(_counted(tally, ids, results[first:last]))
        first = last
    taken[0][0].answers.succeed([answer for answer, _ in taken], told)


def _counted(
    tally: Tally, ids: Sequence[str], results: Sequence[Refusal | None]
) -> DeleteMessageBatchResult:
    if not any(results):
        tally.count(len(ids), 0)
        return DeleteMessageBatchResult(list(map(DeleteMessageBatchResultEntry, ids)), [])
    successful, failed = [], []
    for own, refusal in zip(ids, results, strict=True):
        if refusal is None:
            successful.append(DeleteMessageBatchResultEntry(own))
        else:
            failed.append(error_entry(own, refusal))
    count_entries(tally, len(successful), 0, len(failed))
    return DeleteMessageBatchResult(successful, failed)
