"""ChangeMessageVisibilityBatch: new visibility timeouts for up to ten messages, each with its
result."""

from duolog.model.errors import Refusal
from duolog.model.queue_errors import MissingParameter
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.faults import error_entry
from duolog.sqs_api.usage import count_entries
from duolog.sqs_api.validation.batches import checked_ids
from duolog.sqs_api.validation.bounds import check_visibility
from duolog.wire.sqs.messages import (
    BatchResultErrorEntry,
    ChangeMessageVisibilityBatchRequest,
    ChangeMessageVisibilityBatchRequestEntry,
    ChangeMessageVisibilityBatchResult,
    ChangeMessageVisibilityBatchResultEntry,
)


def handle(
    context: Context,
    request: ChangeMessageVisibilityBatchRequest,
    done: Done[ChangeMessageVisibilityBatchResult],
) -> None:
    queue = context.queue(request.queue_url)
    ids = checked_ids(request.entries)
    tally = context.usage[request.queue_url].other
    accepted: list[str] = []
    changes: list[tuple[str, int]] = []
    failed: list[BatchResultErrorEntry] = []
    for own, entry in zip(ids, request.entries, strict=True):
        try:
            changes.append((entry.receipt_handle, _visibility_ms(entry)))
            accepted.append(own)
        except Refusal as refusal:
            failed.append(error_entry(own, refusal))

    def changed(results: list[Refusal | None] | Refusal) -> None:
        if isinstance(results, Refusal):
            tally.fail()
            done(results)
            return
        successful = []
        for own, refusal in zip(accepted, results, strict=True):
            if refusal is None:
                successful.append(ChangeMessageVisibilityBatchResultEntry(own))
            else:
                failed.append(error_entry(own, refusal))
        count_entries(tally, 0, 0, len(failed))
        done(ChangeMessageVisibilityBatchResult(successful, failed))

    if changes:
        queue.change_visibility(changes, changed)
    else:
        changed([])


def _visibility_ms(entry: ChangeMessageVisibilityBatchRequestEntry) -> int:
    seconds = entry.visibility_timeout
    if seconds is None:
        raise MissingParameter("The request must contain the parameter VisibilityTimeout.")
    check_visibility(seconds)
    return seconds * 1000
