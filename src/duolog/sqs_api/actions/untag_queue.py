"""UntagQueue: removes tags from a queue; unknown tags are ignored."""

from collections.abc import Mapping

from duolog.model.queue_errors import MissingParameter
from duolog.sqs_api.context import Context
from duolog.wire.sqs.messages import UntagQueueRequest


async def handle(context: Context, request: UntagQueueRequest) -> None:
    name = context.queue_name(request.queue_url)
    if not request.tag_keys:
        raise MissingParameter("The request must contain the parameter TagKeys.")

    def untagged(tags: Mapping[str, str]) -> Mapping[str, str]:
        return {key: value for key, value in tags.items() if key not in request.tag_keys}

    await context.queues.edit_tags(name, untagged)
