"""SendMessageBatch: up to ten messages into a queue, each with its own result."""

from duolog.broker.queues.sending import Sent
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.faults import error_entry
from duolog.sqs_api.sent import digests_of
from duolog.sqs_api.validation.batches import check_batch_size, check_entries
from duolog.sqs_api.validation.outgoing import check_ordering, checked_outgoing, message_size
from duolog.wire.sqs.messages import (
    BatchResultErrorEntry,
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
    SendMessageBatchResult,
    SendMessageBatchResultEntry,
)


def handle(
    context: Context, request: SendMessageBatchRequest, done: Done[SendMessageBatchResult]
) -> None:
    queue = context.queue(request.queue_url)
    config = queue.config
    entries = request.entries
    check_entries(entries)
    sizes = list(map(message_size, entries))
    check_batch_size(sum(sizes))
    check_ordering(entries, config)
    accepted: list[SendMessageBatchRequestEntry] = []
    messages: list[Outgoing] = []
    failed: list[BatchResultErrorEntry] = []
    for entry, size in zip(entries, sizes, strict=True):
        try:
            messages.append(
                checked_outgoing(
                    entry, size, config, context.sender_id, is_unescaped=context.is_unescaped
                )
            )
            accepted.append(entry)
        except Refusal as refusal:
            failed.append(error_entry(entry.id, refusal))

    def sent(results: list[Sent | Refusal] | Refusal) -> None:
        if isinstance(results, Refusal):
            done(results)
            return
        successful = []
        for entry, message, result in zip(accepted, messages, results, strict=True):
            if isinstance(result, Refusal):
                failed.append(error_entry(entry.id, result))
            else:
                successful.append(
                    SendMessageBatchResultEntry(
                        entry.id,
                        result.message_id,
                        *digests_of(message),
                        result.sequence_number,
                    )
                )
        done(SendMessageBatchResult(successful, failed))

    if messages:
        queue.send(messages, sent)
    else:
        sent([])
