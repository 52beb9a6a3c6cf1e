"""Amazon resource names of this node's queues."""

from duolog.model.names import queue_arn
from duolog.model.queue_errors import InvalidParameterValue, ResourceNotFound


class Arns:
    def __init__(self, region: str, account_id: str) -> None:
        self._prefix = queue_arn("", region, account_id)

    def of(self, queue: str) -> str:
        return self._prefix + queue

    def name_in(self, arn: str, parameter: str) -> str:
        """Name of the queue in an ARN. ResourceNotFound if the account or region is not ours."""
        if arn.startswith(self._prefix):
            return arn[len(self._prefix) :]
        if not arn.startswith("arn:") or arn.count(":") != 5:
            raise InvalidParameterValue(
                f"You must use this format to specify the {parameter}:"
                " arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
            )
        raise no_resource(parameter)


def no_resource(parameter: str) -> ResourceNotFound:
    return ResourceNotFound(
        f"The resource that you specified for the {parameter} parameter doesn't exist."
    )
