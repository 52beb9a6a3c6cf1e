"""Bounds of the numbers that a request gives, as SQS defines them."""

from duolog.model.queue_errors import InvalidParameterValue

DELAY_SECONDS_MAX = 900
VISIBILITY_SECONDS_MAX = 43_200
WAIT_SECONDS_MAX = 20
RECEIVE_COUNT_MAX = 10
LISTED_QUEUES_MAX = 1_000
LISTED_TASKS_MAX = 10
MOVES_PER_SECOND_MAX = 500


def check_delay(seconds: int) -> None:
    _check("DelaySeconds", seconds, 0, DELAY_SECONDS_MAX)


def check_visibility(seconds: int) -> None:
    _check("VisibilityTimeout", seconds, 0, VISIBILITY_SECONDS_MAX)


def check_wait(seconds: int) -> None:
    _check("WaitTimeSeconds", seconds, 0, WAIT_SECONDS_MAX)


def check_receive_count(count: int) -> None:
    _check("MaxNumberOfMessages", count, 1, RECEIVE_COUNT_MAX)


def check_listed_queues(count: int) -> None:
    _check("MaxResults", count, 1, LISTED_QUEUES_MAX)


def check_listed_tasks(count: int) -> None:
    _check("MaxResults", count, 1, LISTED_TASKS_MAX)


def check_moves_per_second(count: int) -> None:
    _check("MaxNumberOfMessagesPerSecond", count, 1, MOVES_PER_SECOND_MAX)


def _check(parameter: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidParameterValue(
            f"Value {value} for parameter {parameter} is invalid."
            f" Reason: Must be >= {least} and <= {most}, if provided."
        )
