"""TagQueue: adds tags to a queue; an existing tag gets the new value."""

from collections.abc import Mapping

from duolog.model.queue_errors import MissingParameter
from duolog.sqs_api.context import Context
from duolog.sqs_api.validation.tags import check_tags
from duolog.wire.sqs.messages import TagQueueRequest


async def handle(context: Context, request: TagQueueRequest) -> None:
    name = context.queue_name(request.queue_url)
    if not request.tags:
        raise MissingParameter("The request must contain the parameter Tags.")

    def tagged(tags: Mapping[str, str]) -> Mapping[str, str]:
        together = {**tags, **request.tags}
        check_tags(together)
        return together

    await context.queues.edit_tags(name, tagged)
