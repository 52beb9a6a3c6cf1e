"""DeleteMessageBatch: up to ten messages are done, each with its own result."""

from duolog.model.errors import Refusal
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.faults import error_entry
from duolog.sqs_api.usage import count_entries
from duolog.sqs_api.validation.batches import checked_ids
from duolog.wire.sqs.messages import (
    DeleteMessageBatchRequest,
    DeleteMessageBatchResult,
    DeleteMessageBatchResultEntry,
)


def handle(
    context: Context, request: DeleteMessageBatchRequest, done: Done[DeleteMessageBatchResult]
) -> None:
    queue = context.queue(request.queue_url)
    tally = context.usage[request.queue_url].deleted
    entries = request.entries
    ids = checked_ids(entries)

    def deleted(results: list[Refusal | None] | Refusal) -> None:
        if isinstance(results, Refusal):
            tally.fail()
            done(results)
            return
        successful, failed = [], []
        for own, refusal in zip(ids, results, strict=True):
            if refusal is None:
                successful.append(DeleteMessageBatchResultEntry(own))
            else:
                failed.append(error_entry(own, refusal))
        count_entries(tally, len(successful), 0, len(failed))
        done(DeleteMessageBatchResult(successful, failed))

    queue.delete([entry.receipt_handle for entry in entries], deleted)
