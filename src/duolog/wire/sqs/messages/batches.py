"""Structures that the answers to all batches share."""

from duolog.wire.sqs.messages.shape import Shape


class BatchResultErrorEntry(Shape):
    """Refused entry of a batch."""

    id: str
    sender_fault: bool
    code: str
    message: str | None = None
