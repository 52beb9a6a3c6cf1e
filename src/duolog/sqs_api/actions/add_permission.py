"""AddPermission: adds a statement to the queue's policy that lets other accounts use it."""

from duolog.sqs_api.context import Context
from duolog.sqs_api.policies import check_permission, with_permission
from duolog.wire.sqs.messages import AddPermissionRequest


async def handle(context: Context, request: AddPermissionRequest) -> None:
    name = context.queue_name(request.queue_url)
    check_permission(request.label, request.aws_account_ids, request.actions)
    arn = context.arns.of(name)

    def permitted(policy: str) -> str:
        return with_permission(policy, arn, request.label, request.aws_account_ids, request.actions)

    await context.queues.edit_policy(name, permitted)
