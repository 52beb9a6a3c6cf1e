"""Actions of the SQS API, with the structures of their requests and results."""

from collections.abc import Mapping
from typing import NamedTuple

from duolog.wire.sqs import messages
from duolog.wire.sqs.messages import Shape

API_VERSION = "2012-11-05"


class Action(NamedTuple):
    name: str
    request: type[Shape]
    result: type[Shape] | None
    """None if success is all that the answer says."""


_ACTIONS = (
    Action("AddPermission", messages.AddPermissionRequest, None),
    Action(
        "CancelMessageMoveTask",
        messages.CancelMessageMoveTaskRequest,
        messages.CancelMessageMoveTaskResult,
    ),
    Action("ChangeMessageVisibility", messages.ChangeMessageVisibilityRequest, None),
    Action(
        "ChangeMessageVisibilityBatch",
        messages.ChangeMessageVisibilityBatchRequest,
        messages.ChangeMessageVisibilityBatchResult,
    ),
    Action("CreateQueue", messages.CreateQueueRequest, messages.CreateQueueResult),
    Action("DeleteMessage", messages.DeleteMessageRequest, None),
    Action(
        "DeleteMessageBatch",
        messages.DeleteMessageBatchRequest,
        messages.DeleteMessageBatchResult,
    ),
    Action("DeleteQueue", messages.DeleteQueueRequest, None),
    Action(
        "GetQueueAttributes",
        messages.GetQueueAttributesRequest,
        messages.GetQueueAttributesResult,
    ),
    Action("GetQueueUrl", messages.GetQueueUrlRequest, messages.GetQueueUrlResult),
    Action(
        "ListDeadLetterSourceQueues",
        messages.ListDeadLetterSourceQueuesRequest,
        messages.ListDeadLetterSourceQueuesResult,
    ),
    Action(
        "ListMessageMoveTasks",
        messages.ListMessageMoveTasksRequest,
        messages.ListMessageMoveTasksResult,
    ),
    Action("ListQueueTags", messages.ListQueueTagsRequest, messages.ListQueueTagsResult),
    Action("ListQueues", messages.ListQueuesRequest, messages.ListQueuesResult),
    Action("PurgeQueue", messages.PurgeQueueRequest, None),
    Action("ReceiveMessage", messages.ReceiveMessageRequest, messages.ReceiveMessageResult),
    Action("RemovePermission", messages.RemovePermissionRequest, None),
    Action("SendMessage", messages.SendMessageRequest, messages.SendMessageResult),
    Action("SendMessageBatch", messages.SendMessageBatchRequest, messages.SendMessageBatchResult),
    Action("SetQueueAttributes", messages.SetQueueAttributesRequest, None),
    Action(
        "StartMessageMoveTask",
        messages.StartMessageMoveTaskRequest,
        messages.StartMessageMoveTaskResult,
    ),
    Action("TagQueue", messages.TagQueueRequest, None),
    Action("UntagQueue", messages.UntagQueueRequest, None),
)

ACTIONS: Mapping[str, Action] = {action.name: action for action in _ACTIONS}

TARGETS: Mapping[bytes, Action] = {
    b"AmazonSQS." + action.name.encode(): action for action in _ACTIONS
}
"""Action by the X-Amz-Target header of a JSON request."""
