"""DeleteMessage: a message has been worked on, and is done."""

from duolog.model.errors import Refusal
from duolog.sqs_api.context import Context, Done
from duolog.wire.sqs.messages import DeleteMessageRequest


def handle(context: Context, request: DeleteMessageRequest, done: Done[None]) -> None:
    def deleted(results: list[Refusal | None] | Refusal) -> None:
        done(results if isinstance(results, Refusal) else results[0])

    context.queue(request.queue_url).delete((request.receipt_handle,), deleted)
