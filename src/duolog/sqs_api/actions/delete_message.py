"""DeleteMessage: marks a message as done, by the receipt of its delivery."""

from functools import partial
from itertools import repeat

from duolog.broker.queues.queue import Queue
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.sqs_api.answers import Answer
from duolog.sqs_api.context import Context, Done
from duolog.wire.sqs.messages import DeleteMessageRequest


def handle(context: Context, request: DeleteMessageRequest, done: Done[None]) -> None:
    queue = context.queue(request.queue_url)
    tally = context.usage[request.queue_url].deleted

    def deleted(results: list[Refusal | None] | Refusal) -> None:
        result = results if isinstance(results, Refusal) else results[0]
        if result is None:
            tally.count(1, 0)
        else:
            tally.fail()
        done(result)

    queue.delete((request.receipt_handle,), deleted)


def handle_together(context: Context, queue: Queue, answers: list[Answer]) -> list[Answer]:
    tally = context.usage[answers[0].asked.queue_url].deleted
    handles = [answer.asked.receipt_handle for answer in answers]
    queue.delete(handles, partial(_deleted, tally, answers))
    return []


def _deleted(tally: Tally, answers: list[Answer], results: list[Refusal | None] | Refusal) -> None:
    if not isinstance(results, Refusal) and not any(results):
        tally.count(len(answers), 0, len(answers))
        answers[0].answers.succeed(answers, results)  # type: ignore[arg-type]
        return
    each = repeat(results) if isinstance(results, Refusal) else results
    for answer, result in zip(answers, each, strict=False):
        if result is None:
            tally.count(1, 0)
        else:
            tally.fail()
        answer.done(result)
