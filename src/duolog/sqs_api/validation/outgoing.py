"""A message to be sent, built from the request and checked against its queue's limits."""

from collections.abc import Sequence

from duolog.config.queue import QueueConfig
from duolog.core.queues.message import Outgoing
from duolog.model.queue_errors import InvalidParameterValue, MissingParameter
from duolog.sqs_api.context import Context
from duolog.sqs_api.validation.attributes import (
    attributes_size,
    checked_attributes,
    checked_trace_header,
)
from duolog.sqs_api.validation.bounds import check_delay
from duolog.sqs_api.validation.identifiers import check_deduplication_id, check_group_id
from duolog.sqs_api.validation.queue_kinds import not_for_this_queue
from duolog.sqs_api.validation.texts import check_characters
from duolog.wire.sqs.messages import SendMessageBatchRequestEntry, SendMessageRequest

Sending = SendMessageRequest | SendMessageBatchRequestEntry


def message_size(asked: Sending) -> int:
    """Bytes of the body and the attributes; system attributes do not count."""
    body, attributes = asked.message_body, asked.message_attributes
    size = len(body) if body.isascii() else len(body.encode())
    return size + attributes_size(attributes) if attributes else size


def plain_bodies(
    asked: Sequence[Sending], config: QueueConfig, context: Context
) -> list[bytes] | None:
    """The bodies, if every message has only a body and may be sent; else None.

    Callers have checked that all text is plain ASCII.
    """
    if context.sender_id or config.fifo:
        return None
    bodies = [
        each.message_body.encode()
        for each in asked
        if each.delay_seconds is None
        and each.message_attributes is None
        and each.message_system_attributes is None
        and each.message_deduplication_id is None
        and each.message_group_id is None
    ]
    if len(bodies) < len(asked):
        return None
    are_sendable = all(bodies) and max(map(len, bodies)) <= config.maximum_message_size
    return bodies if are_sendable else None


def check_ordering(asked: Sequence[Sending], config: QueueConfig) -> None:
    """Refuse FIFO parameters that the queue's kind lacks or needs; one such entry fails its whole
    batch."""
    for each in asked:
        if not config.fifo:
            if each.message_deduplication_id is not None:
                raise not_for_this_queue("MessageDeduplicationId", each.message_deduplication_id)
        elif each.message_group_id is None:
            raise MissingParameter("The request must contain the parameter MessageGroupId.")
        elif each.message_deduplication_id is None and not config.content_based_deduplication:
            raise InvalidParameterValue(
                "The queue should either have ContentBasedDeduplication enabled or"
                " MessageDeduplicationId provided explicitly"
            )


def checked_outgoing(asked: Sending, size: int, config: QueueConfig, context: Context) -> Outgoing:
    """The message to be sent; `size` is what `message_size` returned."""
    body = asked.message_body
    if not body:
        raise MissingParameter("The request must contain the parameter MessageBody.")
    if size > config.maximum_message_size:
        raise InvalidParameterValue(
            "One or more parameters are invalid."
            f" Reason: Message must be shorter than {config.maximum_message_size} bytes."
        )
    if not context.is_plain_ascii:
        check_characters(body)
    delay = asked.delay_seconds
    if delay is not None:
        check_delay(delay)
        if config.fifo:
            # Zero changes nothing, and clients made for standard queues send it.
            if delay:
                raise not_for_this_queue("DelaySeconds", str(delay))
            delay = None
    if asked.message_group_id is not None:
        check_group_id(asked.message_group_id)
    if asked.message_deduplication_id is not None:
        check_deduplication_id(asked.message_deduplication_id)
    given, system = asked.message_attributes, asked.message_system_attributes
    return Outgoing(
        body,
        checked_attributes(given) if given else {},
        delay,
        asked.message_group_id,
        asked.message_deduplication_id,
        checked_trace_header(system) if system else None,
        context.sender_id,
    )
