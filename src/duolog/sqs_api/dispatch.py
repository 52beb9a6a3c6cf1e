"""Tables from the name of an action to the module that serves it."""

from collections.abc import Callable, Coroutine
from typing import Any

from duolog.broker.queues.queue import Queue
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
from duolog.sqs_api.answers import Answer
from duolog.sqs_api.context import Abandon, Context, Done
from duolog.wire.sqs.messages import Shape

OneByOne = Callable[[Context, Any, Done[Any]], Abandon | None]
Together = Callable[[Context, Queue, list[Answer]], list[Answer]]
"""Serves the ordinary ones of a turn's requests to one queue together; returns the others, to be
served one by one."""
Waiting = Callable[[Context, Any], Coroutine[Any, Any, Shape | None]]

MOVING: dict[str, tuple[OneByOne, Together | None]] = {
    "ChangeMessageVisibility": (change_message_visibility.handle, None),
    "ChangeMessageVisibilityBatch": (change_message_visibility_batch.handle, None),
    "DeleteMessage": (delete_message.handle, delete_message.handle_together),
    "DeleteMessageBatch": (delete_message_batch.handle, delete_message_batch.handle_together),
    "ReceiveMessage": (receive_message.handle, receive_message.handle_together),
    "SendMessage": (send_message.handle, send_message.handle_together),
    "SendMessageBatch": (send_message_batch.handle, send_message_batch.handle_together),
}
"""Actions that move messages, served without a task: a task would cost more than the rest of the
request."""

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
