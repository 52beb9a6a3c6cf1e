"""ReceiveMessage: messages to work on, hidden from others meanwhile; perhaps after a wait."""

from duolog.broker.queues.receiving import Received
from duolog.model.errors import Refusal
from duolog.sqs_api.context import Abandon, Context, Done
from duolog.sqs_api.received import Wanted
from duolog.sqs_api.validation.bounds import check_receive_count, check_visibility, check_wait
from duolog.sqs_api.validation.identifiers import check_attempt_id
from duolog.sqs_api.validation.queue_kinds import not_for_this_queue
from duolog.wire.sqs.messages import ReceiveMessageRequest, ReceiveMessageResult


def handle(
    context: Context, request: ReceiveMessageRequest, done: Done[ReceiveMessageResult]
) -> Abandon:
    queue = context.queue(request.queue_url)
    config = queue.config
    tally = context.usage[request.queue_url].received
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
        _check_attempt(attempt, fifo=config.fifo)
    wanted = Wanted.of(
        request.message_system_attribute_names,
        request.attribute_names,
        request.message_attribute_names,
    )

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
        wait_ms=wait_seconds * 1000,
        visibility_ms=None if visibility is None else visibility * 1000,
        attempt=attempt,
        done=received,
    ).abandon


def _check_attempt(attempt: str, *, fifo: bool) -> None:
    if not fifo:
        raise not_for_this_queue("ReceiveRequestAttemptId", attempt)
    check_attempt_id(attempt)
