"""RemovePermission: removes the policy statement that has a given label."""

from duolog.sqs_api.context import Context
from duolog.sqs_api.policies import without_permission
from duolog.wire.sqs.messages import RemovePermissionRequest


async def handle(context: Context, request: RemovePermissionRequest) -> None:
    name = context.queue_name(request.queue_url)
    await context.queues.edit_policy(name, lambda policy: without_permission(policy, request.label))
