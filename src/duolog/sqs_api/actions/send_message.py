"""SendMessage: one message into a queue."""

from functools import partial

from duolog.broker.queues.sending import Sent
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.sqs_api.context import Context, Done
from duolog.sqs_api.sent import digests_of
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
    bodies = plain_bodies((request,), config, context)
    if bodies is not None:
        queue.send_plain(bodies, partial(_sent_plain, len(bodies[0]), tally, done))
        return
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


def _sent_plain(
    size: int,
    tally: Tally,
    done: Done[SendMessageResult],
    results: list[Sent | Refusal] | Refusal,
) -> None:
    result = results if isinstance(results, Refusal) else results[0]
    if isinstance(result, Refusal):
        tally.fail()
        done(result)
    else:
        tally.count(1, size)
        done(SendMessageResult(result.body_md5, message_id=result.message_id))
