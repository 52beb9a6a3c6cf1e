"""SendMessageBatch: up to ten messages into a queue, each with its own result."""

from collections.abc import Sequence
from functools import partial

from duolog.broker.queues.sending import Sent
from duolog.core.queues.message import Outgoing
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.faults import error_entry
from duolog.sqs_api.sent import digests_of
from duolog.sqs_api.usage import body_size, count_entries
from duolog.sqs_api.validation.batches import check_batch_size, checked_ids
from duolog.sqs_api.validation.outgoing import (
    check_ordering,
    checked_outgoing,
    message_size,
    plain_bodies,
)
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
    tally = context.usage[request.queue_url].sent
    entries = request.entries
    ids = checked_ids(entries)
    bodies = plain_bodies(entries, config, context)
    if bodies is not None:
        check_batch_size(sum(map(len, bodies)))
        queue.send_plain(bodies, partial(_sent_plain, ids, bodies, tally, done))
        return
    sizes = list(map(message_size, entries))
    check_batch_size(sum(sizes))
    check_ordering(entries, config)
    accepted: list[SendMessageBatchRequestEntry] = []
    messages: list[Outgoing] = []
    failed: list[BatchResultErrorEntry] = []
    for entry, size in zip(entries, sizes, strict=True):
        try:
            messages.append(checked_outgoing(entry, size, config, context))
            accepted.append(entry)
        except Refusal as refusal:
            failed.append(error_entry(entry.id, refusal))

    def sent(results: list[Sent | Refusal] | Refusal) -> None:
        if isinstance(results, Refusal):
            tally.fail()
            done(results)
            return
        successful = []
        size = 0
        for entry, message, result in zip(accepted, messages, results, strict=True):
            if isinstance(result, Refusal):
                failed.append(error_entry(entry.id, result))
            else:
                size += body_size(message.body)
                successful.append(
                    SendMessageBatchResultEntry(
                        entry.id,
                        result.message_id,
                        result.body_md5,
                        *digests_of(message),
                        result.sequence_number,
                    )
                )
        count_entries(tally, len(successful), size, len(failed))
        done(SendMessageBatchResult(successful, failed))

    if messages:
        queue.send(messages, sent)
    else:
        sent([])


def _sent_plain(
    ids: Sequence[str],
    bodies: Sequence[bytes],
    tally: Tally,
    done: Done[SendMessageBatchResult],
    results: list[Sent | Refusal] | Refusal,
) -> None:
    if isinstance(results, Refusal):
        tally.fail()
        done(results)
        return
    successful = [
        SendMessageBatchResultEntry(own, result.message_id, result.body_md5)
        for own, result in zip(ids, results, strict=True)
        if type(result) is Sent
    ]
    failed = []
    size = sum(map(len, bodies))
    if len(successful) < len(ids):
        failed = [
            error_entry(own, result)
            for own, result in zip(ids, results, strict=True)
            if isinstance(result, Refusal)
        ]
        size = sum(
            len(body) for body, result in zip(bodies, results, strict=True) if type(result) is Sent
        )
    count_entries(tally, len(successful), size, len(failed))
    done(SendMessageBatchResult(successful, failed))
