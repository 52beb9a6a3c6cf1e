"""Message move tasks, which move the messages of a dead-letter queue back."""

from duolog.wire.sqs.messages.shape import Integer, Long, Shape


class StartMessageMoveTaskRequest(Shape):
    source_arn: str
    destination_arn: str | None = None
    max_number_of_messages_per_second: Integer | None = None


class StartMessageMoveTaskResult(Shape):
    task_handle: str | None = None


class CancelMessageMoveTaskRequest(Shape):
    task_handle: str


class CancelMessageMoveTaskResult(Shape):
    approximate_number_of_messages_moved: Long | None = None


class ListMessageMoveTasksRequest(Shape):
    source_arn: str
    max_results: Integer | None = None


class ListMessageMoveTasksResultEntry(Shape):
    task_handle: str | None = None
    status: str | None = None
    source_arn: str | None = None
    destination_arn: str | None = None
    max_number_of_messages_per_second: Integer | None = None
    approximate_number_of_messages_moved: Long | None = None
    approximate_number_of_messages_to_move: Long | None = None
    failure_reason: str | None = None
    started_timestamp: Long | None = None


class ListMessageMoveTasksResult(Shape):
    results: list[ListMessageMoveTasksResultEntry] | None = None
