"""Actions that end or prolong a delivery: DeleteMessage, ChangeMessageVisibility, their batches."""

from duolog.wire.sqs.messages.batches import BatchResultErrorEntry
from duolog.wire.sqs.messages.shape import Integer, Shape


class DeleteMessageRequest(Shape):
    queue_url: str
    receipt_handle: str


class DeleteMessageBatchRequestEntry(Shape):
    id: str
    receipt_handle: str


class DeleteMessageBatchRequest(Shape):
    queue_url: str
    entries: list[DeleteMessageBatchRequestEntry]


class DeleteMessageBatchResultEntry(Shape):
    id: str


class DeleteMessageBatchResult(Shape):
    successful: list[DeleteMessageBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []


class ChangeMessageVisibilityRequest(Shape):
    queue_url: str
    receipt_handle: str
    visibility_timeout: Integer


class ChangeMessageVisibilityBatchRequestEntry(Shape):
    id: str
    receipt_handle: str
    visibility_timeout: Integer | None = None


class ChangeMessageVisibilityBatchRequest(Shape):
    queue_url: str
    entries: list[ChangeMessageVisibilityBatchRequestEntry]


class ChangeMessageVisibilityBatchResultEntry(Shape):
    id: str


class ChangeMessageVisibilityBatchResult(Shape):
    successful: list[ChangeMessageVisibilityBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []
