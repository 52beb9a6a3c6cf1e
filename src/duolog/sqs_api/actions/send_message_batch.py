"""SendMessageBatch: sends up to ten messages to a queue, each with its own result."""

from collections.abc import Sequence
from functools import partial
from itertools import chain

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.sending import Sent, SentRun
from duolog.core.queues.message import Outgoing
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.sqs_api.answers import Answer
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.faults import error_entry
from duolog.sqs_api.sent import TOGETHER_BYTES_MAX, digests_of
from duolog.sqs_api.usage import body_size, count_entries
from duolog.sqs_api.validation.batches import check_batch_size, checked_ids
from duolog.sqs_api.validation.outgoing import (
    check_ordering,
    checked_outgoing,
    message_size,
)
from duolog.wire.sqs.messages import (
    BatchResultErrorEntry,
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
    SendMessageBatchResult,
    SendMessageBatchResultEntry,
)
from duolog.wire.sqs.plain_batches import PlainBatch
from duolog.wire.sqs.rows import SENT, Table


def handle(
    context: Context, request: SendMessageBatchRequest, done: Done[SendMessageBatchResult]
) -> None:
    queue = context.queue(request.queue_url)
    config = queue.config
    tally = context.usage[request.queue_url].sent
    entries = request.entries
    checked_ids(entries)
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


def handle_together(context: Context, queue: Queue, answers: list[Answer]) -> list[Answer]:
    """Send batches of plain messages (only bodies) together; return the others."""
    if context.sender_id or queue.config.fifo:
        return answers
    taken = [answer for answer in answers if isinstance(answer.asked, PlainBatch)]
    left = [answer for answer in answers if not isinstance(answer.asked, PlainBatch)]
    size_max = queue.config.maximum_message_size
    size = _size_of(taken, size_max)
    if size is None or size > TOGETHER_BYTES_MAX:
        each, taken, size = taken, [], 0
        for answer in each:
            own = _size_of((answer,), size_max)
            if own is None or size + own > TOGETHER_BYTES_MAX:
                left.append(answer)
            else:
                taken.append(answer)
                size += own
    if taken:
        tally = context.usage[taken[0].asked.queue_url].sent
        bodies = list(chain.from_iterable([answer.asked.values for answer in taken]))
        queue.send_plain(bodies, partial(_sent, tally, taken, size))
    return left


def _size_of(answers: Sequence[Answer], size_max: int) -> int | None:
    """Total bytes of the bodies; None if one of them is empty or exceeds the maximum."""
    sizes = [len(body) for answer in answers for body in answer.asked.values]
    return sum(sizes) if all(sizes) and max(sizes, default=0) <= size_max else None


def _sent(
    tally: Tally,
    answers: list[Answer],
    size: int,
    results: SentRun | list[Sent | Refusal] | Refusal,
) -> None:
    if isinstance(results, SentRun):
        counts = [len(answer.asked.ids) for answer in answers]
        ids = list(chain.from_iterable([answer.asked.ids for answer in answers]))
        tally.count(len(ids), size, len(answers))
        columns = ids, results.message_ids, results.body_md5s
        answers[0].answers.succeed_with_rows(answers, SENT, Table(columns, counts))
        return
    first = 0
    for answer in answers:
        batch: PlainBatch[bytes] = answer.asked
        if isinstance(results, Refusal):
            tally.fail()
            answer.done(results)
            continue
        own = results[first : first + len(batch.ids)]
        first += len(batch.ids)
        successful, failed = [], []
        size = 0
        for own_id, body, result in zip(batch.ids, batch.values, own, strict=True):
            if isinstance(result, Refusal):
                failed.append(error_entry(own_id, result))
            else:
                size += len(body)
                successful.append(
                    SendMessageBatchResultEntry(own_id, result.message_id, result.body_md5)
                )
        count_entries(tally, len(successful), size, len(failed))
        answer.done(SendMessageBatchResult(successful, failed))
