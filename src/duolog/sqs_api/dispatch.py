"""From an action to the module that serves it."""

from collections.abc import Callable, Coroutine
from typing import Any

from duolog.sqs_api.actions import (
    add_permission,
    cancel_message_move_task,
    change_message_visibility,
    change_message_visibility_batch,
    create_queue,
    delete_message,
    delete_message_batch,
    delete_queue,
    get_queue_attributes,
    get_queue_url,
    list_dead_letter_source_queues,
    list_message_move_tasks,
    list_queue_tags,
    list_queues,
    purge_queue,
    receive_message,
    remove_permission,
    send_message,
    send_message_batch,
    set_queue_attributes,
    start_message_move_task,
    tag_queue,
    untag_queue,
)
from duolog.sqs_api.context import Abandon, Context, Done
from duolog.wire.sqs.messages import Shape

CallingBack = Callable[[Context, Any, Done[Any]], Abandon | None]
Waiting = Callable[[Context, Any], Coroutine[Any, Any, Shape | None]]

CALLING_BACK: dict[str, CallingBack] = {
    "ChangeMessageVisibility": change_message_visibility.handle,
    "ChangeMessageVisibilityBatch": change_message_visibility_batch.handle,
    "DeleteMessage": delete_message.handle,
    "DeleteMessageBatch": delete_message_batch.handle,
    "ReceiveMessage": receive_message.handle,
    "SendMessage": send_message.handle,
    "SendMessageBatch": send_message_batch.handle,
}
"""What moves messages: a task for each would cost more than the rest of the request."""

WAITING: dict[str, Waiting] = {
    "AddPermission": add_permission.handle,
    "CancelMessageMoveTask": cancel_message_move_task.handle,
    "CreateQueue": create_queue.handle,
    "DeleteQueue": delete_queue.handle,
    "GetQueueAttributes": get_queue_attributes.handle,
    "GetQueueUrl": get_queue_url.handle,
    "ListDeadLetterSourceQueues": list_dead_letter_source_queues.handle,
    "ListMessageMoveTasks": list_message_move_tasks.handle,
    "ListQueueTags": list_queue_tags.handle,
    "ListQueues": list_queues.handle,
    "PurgeQueue": purge_queue.handle,
    "RemovePermission": remove_permission.handle,
    "SetQueueAttributes": set_queue_attributes.handle,
    "StartMessageMoveTask": start_message_move_task.handle,
    "TagQueue": tag_queue.handle,
    "UntagQueue": untag_queue.handle,
}
