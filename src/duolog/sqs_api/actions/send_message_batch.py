"""SendMessageBatch: up to ten messages into a queue, each with its own result."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

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


class _Taken(NamedTuple):
    """A request that is sent together with others."""

    answer: Answer
    ids: Sequence[str]
    bodies: Sequence[bytes]


def handle_together(context: Context, queue: Queue, answers: list[Answer]) -> list[Answer]:
    """Messages of which there is nothing to say but their bodies."""
    taken: list[_Taken] = []
    left: list[Answer] = []
    room = TOGETHER_BYTES_MAX
    for answer in answers:
        entries = answer.asked.entries
        try:
            ids = checked_ids(entries)
        except Refusal:
            left.append(answer)
            continue
        bodies = None
        if answer.is_plain_ascii:
            bodies = plain_bodies(entries, queue.config, context)
        if bodies is None or (size := sum(map(len, bodies))) > room:
            left.append(answer)
            continue
        room -= size
        taken.append(_Taken(answer, ids, bodies))
    if taken:
        tally = context.usage[taken[0].answer.asked.queue_url].sent
        together = list(chain.from_iterable([each.bodies for each in taken]))
        queue.send_plain(together, partial(_sent, tally, taken))
    return left


def _sent(
    tally: Tally, taken: list[_Taken], results: SentRun | list[Sent | Refusal] | Refusal
) -> None:
    if isinstance(results, SentRun):
        _all_sent(tally, taken, results)
        return
    first = 0
    for answer, ids, bodies in taken:
        if isinstance(results, Refusal):
            tally.fail()
            answer.done(results)
            continue
        own = results[first : first + len(ids)]
        first += len(ids)
        successful, failed = [], []
        size = 0
        for own_id, body, result in zip(ids, bodies, own, strict=True):
            if isinstance(result, Refusal):
                failed.append(error_entry(own_id, result))
            else:
                size += len(body)
                successful.append(
                    SendMessageBatchResultEntry(own_id, result.message_id, result.body_md5)
                )
        count_entries(tally, len(successful), size, len(failed))
        answer.done(SendMessageBatchResult(successful, failed))


def _all_sent(tally: Tally, taken: list[_Taken], sent: SentRun) -> None:
    ids = chain.from_iterable([each.ids for each in taken])
    entries = list(map(SendMessageBatchResultEntry, ids, sent.message_ids, sent.body_md5s))
    size = sum([sum(map(len, each.bodies)) for each in taken])
    tally.count(len(entries), size, len(taken))
    results = []
    first = 0
    for each in taken:
        last = first + len(each.ids)
        results.append(SendMessageBatchResult(entries[first:last], []))
        first = last
    taken[0].answer.answers.succeed([each.answer for each in taken], results)
