"""What the answers to batches have in common."""

from duolog.wire.sqs.messages.shape import Shape


class BatchResultErrorEntry(Shape):
    """An entry of a batch that was refused."""

    id: str
    sender_fault: bool
    code: str
    message: str | None = None
