"""ReceiveMessage: delivers messages and hides them for the visibility timeout; may long-poll."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeGuard

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.receiving import Received, ReceivedRun
from duolog.config.queue import QueueConfig
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.sqs_api.answers import Answer
from duolog.sqs_api.context import Abandon, Context, Done
from duolog.sqs_api.received import NOTHING, Wanted
from duolog.sqs_api.validation.bounds import check_receive_count, check_visibility, check_wait
from duolog.sqs_api.validation.identifiers import check_attempt_id
from duolog.sqs_api.validation.queue_kinds import not_for_this_queue
from duolog.wire.sqs.messages import ReceiveMessageRequest, ReceiveMessageResult
from duolog.wire.sqs.rows import RECEIVED, Table


class Terms(NamedTuple):
    """The parameters of a receive, checked and completed with the queue's defaults."""

    count_max: int
    wait_ms: int
    visibility_ms: int | None
    attempt: str | None
    wanted: Wanted


def handle(
    context: Context, request: ReceiveMessageRequest, done: Done[ReceiveMessageResult]
) -> Abandon:
    queue = context.queue(request.queue_url)
    tally = context.usage[request.queue_url].received
    count, wait_ms, visibility_ms, attempt, wanted = _checked(request, queue.config)

    def received(results: list[Received] | Refusal) -> None:
        if isinstance(results, Refusal):
            tally.fail()
            done(results)
        else:
            messages, size = wanted.messages(results, context)
            tally.count(len(messages), size)
            done(ReceiveMessageResult(messages or None))

    return queue.receive(
        count=count,
        wait_ms=wait_ms,
        visibility_ms=visibility_ms,
        attempt=attempt,
        done=received,
    ).abandon


def handle_together(context: Context, queue: Queue, answers: list[Answer]) -> list[Answer]:
    """Serve identical requests together, as a queue's consumers send; return the others."""
    # A client that has disconnected must not be given messages.
    answers = [answer for answer in answers if not answer.is_abandoned]
    if not answers:
        return []
    asked = answers[0].asked
    alike = [answer for answer in answers if answer.asked is asked]
    try:
        count, wait_ms, visibility_ms, attempt, wanted = _checked(asked, queue.config)
    except Refusal:
        return answers
    tally = context.usage[asked.queue_url].received
    queue.receive_each(
        _Consumers(context, tally, wanted),
        alike,
        count=count,
        wait_ms=wait_ms,
        visibility_ms=visibility_ms,
        attempt=attempt,
    )
    return [answer for answer in answers if answer.asked is not asked]


class _Consumers:
    """Answers of one turn whose requests are identical."""

    __slots__ = ("_context", "_tally", "_wanted")

    def __init__(self, context: Context, tally: Tally, wanted: Wanted) -> None:
        self._context = context
        self._tally = tally
        self._wanted = wanted

    def received(self, answer: Answer, result: Sequence[Received] | Refusal) -> None:
        if isinstance(result, Refusal):
            self._tally.fail()
            answer.done(result)
        elif self._are_columns_enough(result):
            self.received_together((answer,), result, (len(result),))
        else:
            messages, size = self._wanted.messages(result, self._context)
            self._tally.count(len(messages), size)
            answer.done(ReceiveMessageResult(messages or None))

    def received_together(
        self, answers: Sequence[Answer], found: Sequence[Received], counts: Sequence[int]
    ) -> None:
        if self._are_columns_enough(found):
            self._tally.count(len(found), sum(map(len, found.bodies)), len(answers))
            columns = found.message_ids, found.receipt_handles, found.body_md5s, found.bodies
            answers[0].answers.succeed_with_rows(answers, RECEIVED, Table(columns, counts))
            return
        first = 0
        for answer, count in zip(answers, counts, strict=True):
            self.received(answer, found[first : first + count])
            first += count

    def gone(self, answers: Sequence[Answer]) -> list[Answer]:
        return [answer for answer in answers if answer.is_abandoned]

    def waits(self, answer: Answer, abandon: Callable[[], None]) -> None:
        answer.on_abandoned = abandon

    def _are_columns_enough(self, found: Sequence[Received]) -> TypeGuard[ReceivedRun]:
        return self._wanted is NOTHING and isinstance(found, ReceivedRun)


def _checked(request: ReceiveMessageRequest, config: QueueConfig) -> Terms:
    count = request.max_number_of_messages
    if count is None:
        count = 1
    else:
        check_receive_count(count)
    wait_seconds = request.wait_time_seconds
    if wait_seconds is None:
        wait_seconds = config.receive_wait_seconds
    else:
        check_wait(wait_seconds)
    visibility = request.visibility_timeout
    if visibility is not None:
        check_visibility(visibility)
    attempt = request.receive_request_attempt_id
    if attempt is not None:
        if not config.fifo:
            raise not_for_this_queue("ReceiveRequestAttemptId", attempt)
        check_attempt_id(attempt)
    return Terms(
        count,
        wait_seconds * 1000,
        None if visibility is None else visibility * 1000,
        attempt,
        Wanted.of(
            request.message_system_attribute_names,
            request.attribute_names,
            request.message_attribute_names,
        ),
    )
