"""Parameters that only one kind of queue takes."""

from duolog.model.queue_errors import InvalidParameterValue


def not_for_this_queue(parameter: str, value: str) -> InvalidParameterValue:
    return InvalidParameterValue(
        f"Value {value} for parameter {parameter} is invalid."
        " Reason: The request include parameter that is not valid for this queue type."
    )
