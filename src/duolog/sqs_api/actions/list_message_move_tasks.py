"""ListMessageMoveTasks: the latest moves out of a dead-letter queue, with their progress."""

from duolog.sqs_api.context import Context
from duolog.sqs_api.moves import queue_named_by, task_entry
from duolog.sqs_api.validation.bounds import check_listed_tasks
from duolog.wire.sqs.messages import ListMessageMoveTasksRequest, ListMessageMoveTasksResult


async def handle(
    context: Context, request: ListMessageMoveTasksRequest
) -> ListMessageMoveTasksResult:
    source = queue_named_by(context, request.source_arn, "SourceArn")
    limit = 1 if request.max_results is None else request.max_results
    check_listed_tasks(limit)
    tasks = context.queues.move_tasks.list(source, limit)
    return ListMessageMoveTasksResult([task_entry(task, context.arns) for task in tasks])
