"""DeleteMessageBatch: marks up to ten messages as done, each with its own result."""

from collections.abc import Sequence
from functools import partial
from itertools import chain

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
from duolog.wire.sqs.plain_batches import PlainBatch
from duolog.wire.sqs.rows import DELETED, Table


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
    taken = [answer for answer in answers if isinstance(answer.asked, PlainBatch)]
    if taken:
        tally = context.usage[taken[0].asked.queue_url].deleted
        handles = list(chain.from_iterable([answer.asked.values for answer in taken]))
        queue.delete(handles, partial(_deleted, tally, taken))
    return [answer for answer in answers if not isinstance(answer.asked, PlainBatch)]


def _deleted(tally: Tally, answers: list[Answer], results: list[Refusal | None] | Refusal) -> None:
    if isinstance(results, Refusal):
        for answer in answers:
            tally.fail()
            answer.done(results)
        return
    if not any(results):
        tally.count(len(results), 0, len(answers))
        columns = (list(chain.from_iterable([answer.asked.ids for answer in answers])),)
        counts = [len(answer.asked.ids) for answer in answers]
        answers[0].answers.succeed_with_rows(answers, DELETED, Table(columns, counts))
        return
    first = 0
    for answer in answers:
        last = first + len(answer.asked.ids)
        answer.done(_counted(tally, answer.asked.ids, results[first:last]))
        first = last


def _counted(
    tally: Tally, ids: Sequence[str], results: Sequence[Refusal | None]
) -> DeleteMessageBatchResult:
    successful, failed = [], []
    for own, refusal in zip(ids, results, strict=True):
        if refusal is None:
            successful.append(DeleteMessageBatchResultEntry(own))
        else:
            failed.append(error_entry(own, refusal))
    count_entries(tally, len(successful), 0, len(failed))
    return DeleteMessageBatchResult(successful, failed)
