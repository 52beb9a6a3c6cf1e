"""ChangeMessageVisibility: prolongs, shortens or ends a message's visibility timeout."""

from duolog.model.errors import Refusal
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.validation.bounds import check_visibility
from duolog.wire.sqs.messages import ChangeMessageVisibilityRequest


def handle(context: Context, request: ChangeMessageVisibilityRequest, done: Done[None]) -> None:
    queue = context.queue(request.queue_url)
    check_visibility(request.visibility_timeout)

    tally = context.usage[request.queue_url].other

    def changed(results: list[Refusal | None] | Refusal) -> None:
        result = results if isinstance(results, Refusal) else results[0]
        if result is None:
            tally.count(0, 0)
        else:
            tally.fail()
        done(result)

    queue.change_visibility(((request.receipt_handle, request.visibility_timeout * 1000),), changed)
