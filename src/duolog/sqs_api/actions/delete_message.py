"""DeleteMessage: a message has been worked on, and is done."""

from duolog.model.errors import Refusal
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
