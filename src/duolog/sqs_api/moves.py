"""Message move tasks, as the API shows them: by ARNs instead of names."""

from duolog.broker.queues.move_tasks import MoveTask
from duolog.model.queue_errors import QueueDoesNotExist
from duolog.sqs_api.arns import Arns, no_resource
from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import ListMessageMoveTasksResultEntry


def queue_named_by(context: Context, arn: str, parameter: str) -> str:
    """The name of the existing queue that an ARN names. Raises ResourceNotFound."""
    name = context.arns.name_in(arn, parameter)
    try:
        context.queues.get(name)
    except QueueDoesNotExist:
        raise no_resource(parameter) from None
    return name


def task_entry(task: MoveTask, arns: Arns) -> ListMessageMoveTasksResultEntry:
    return ListMessageMoveTasksResultEntry(
        # Only a running task can be cancelled, so only that has a handle.
        task_handle=task.handle if task.status == "RUNNING" else None,
        status=task.status,
        source_arn=arns.of(task.source),
        destination_arn=None if task.destination is None else arns.of(task.destination),
        max_number_of_messages_per_second=task.rate,
        approximate_number_of_messages_moved=task.moved,
        approximate_number_of_messages_to_move=task.to_move,
        failure_reason=task.failure,
        started_timestamp=task.started_ms,
    )
