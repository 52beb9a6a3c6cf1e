"""Tags of a queue, and permissions for other accounts."""

from msgspec import field

from duolog.wire.sqs.messages.shape import Shape


class TagQueueRequest(Shape):
    queue_url: str
    tags: dict[str, str]


class UntagQueueRequest(Shape):
    queue_url: str
    tag_keys: list[str]


class ListQueueTagsRequest(Shape):
    queue_url: str


class ListQueueTagsResult(Shape):
    tags: dict[str, str] | None = None


class AddPermissionRequest(Shape):
    queue_url: str
    label: str
    aws_account_ids: list[str] = field(name="AWSAccountIds")
    actions: list[str]


class RemovePermissionRequest(Shape):
    queue_url: str
    label: str
