"""SendMessage: one message into a queue."""

from duolog.broker.queues.sending import Sent
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.sent import digests_of
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
    message: Outgoing | bytes
    bodies = plain_bodies((request,), config, context)
    if bodies is None:
        check_ordering((request,), config)
        message = checked_outgoing(request, message_size(request), config, context)
    else:
        message = bodies[0]

    def sent(results: list[Sent | Refusal] | Refusal) -> None:
        result = results if isinstance(results, Refusal) else results[0]
        if isinstance(result, Refusal):
            done(result)
        else:
            digests = digests_of(message)
            done(SendMessageResult(*digests, result.message_id, result.sequence_number))

    if isinstance(message, bytes):
        queue.send_plain((message,), sent)
    else:
        queue.send((message,), sent)
