"""SendMessage: sends one message to a queue."""

from collections.abc import Iterator
from functools import partial
from itertools import repeat

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.sending import Sent, SentRun
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.sqs_api.answers import Answer
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.sent import TOGETHER_BYTES_MAX, digests_of
from duolog.sqs_api.usage import body_size
from duolog.sqs_api.validation.outgoing import (
    check_ordering,
    checked_outgoing,
    message_size,
    plain_bodies,
)
from duolog.wire.sqs.messages import SendMessageRequest, SendMessageResult


def handle(context: Context, request: SendMessageRequest, done: Done[SendMessageResult]) -> None:
    queue = context.queue(request.queue_url)
    config = queue.config
    tally = context.usage[request.queue_url].sent
    check_ordering((request,), config)
    outgoing = checked_outgoing(request, message_size(request), config, context)

    def sent(results: list[Sent | Refusal] | Refusal) -> None:
        result = results if isinstance(results, Refusal) else results[0]
        if isinstance(result, Refusal):
            tally.fail()
            done(result)
            return
        tally.count(1, body_size(outgoing.body))
        done(
            SendMessageResult(
                result.body_md5,
                *digests_of(outgoing),
                result.message_id,
                result.sequence_number,
            )
        )

    queue.send((outgoing,), sent)


def handle_together(context: Context, queue: Queue, answers: list[Answer]) -> list[Answer]:
    """Send plain messages (only a body, no attributes) together; return the others."""
    bodies = None
    if all(answer.is_plain_ascii for answer in answers):
        bodies = plain_bodies([answer.asked for answer in answers], queue.config, context)
    if bodies is None or sum(map(len, bodies)) > TOGETHER_BYTES_MAX:
        if len(answers) == 1:
            return answers
        half = len(answers) // 2
        first, second = answers[:half], answers[half:]
        return [
            *handle_together(context, queue, first),
            *handle_together(context, queue, second),
        ]
    tally = context.usage[answers[0].asked.queue_url].sent
    queue.send_plain(bodies, partial(_sent, tally, bodies, answers))
    return []


def _sent(
    tally: Tally,
    bodies: list[bytes],
    answers: list[Answer],
    results: SentRun | list[Sent | Refusal] | Refusal,
) -> None:
    if isinstance(results, SentRun):
        tally.count(len(bodies), sum(map(len, bodies)), len(answers))
        answers[0].answers.succeed(answers, _results(results))
        return
    each = repeat(results) if isinstance(results, Refusal) else results
    for answer, body, result in zip(answers, bodies, each, strict=False):
        if isinstance(result, Refusal):
            tally.fail()
            answer.done(result)
        else:
            tally.count(1, len(body))
            answer.done(SendMessageResult(result.body_md5, message_id=result.message_id))


def _results(sent: SentRun) -> Iterator[SendMessageResult]:
    return map(SendMessageResult, sent.body_md5s, repeat(None), repeat(None), sent.message_ids)
