"""Actions on queues themselves: creating, finding, changing, purging and deleting them."""

from msgspec import field

from duolog.wire.sqs.messages.shape import Integer, Shape


class CreateQueueRequest(Shape):
    queue_name: str
    attributes: dict[str, str] | None = None
    tags: dict[str, str] | None = field(default=None, name="tags")


class CreateQueueResult(Shape):
    queue_url: str | None = None


class DeleteQueueRequest(Shape):
    queue_url: str


class GetQueueUrlRequest(Shape):
    queue_name: str
    queue_owner_aws_account_id: str | None = field(default=None, name="QueueOwnerAWSAccountId")


class GetQueueUrlResult(Shape):
    queue_url: str | None = None


class ListQueuesRequest(Shape):
    queue_name_prefix: str | None = None
    next_token: str | None = None
    max_results: Integer | None = None


class ListQueuesResult(Shape):
    queue_urls: list[str] | None = None
    next_token: str | None = None


class ListDeadLetterSourceQueuesRequest(Shape):
    queue_url: str
    next_token: str | None = None
    max_results: Integer | None = None


class ListDeadLetterSourceQueuesResult(Shape):
    queue_urls: list[str] = field(name="queueUrls")
    next_token: str | None = None


class GetQueueAttributesRequest(Shape):
    queue_url: str
    attribute_names: list[str] | None = None


class GetQueueAttributesResult(Shape):
    attributes: dict[str, str] | None = None


class SetQueueAttributesRequest(Shape):
    queue_url: str
    attributes: dict[str, str]


class PurgeQueueRequest(Shape):
    queue_url: str
