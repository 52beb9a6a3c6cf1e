"""The options with which the messages of a queue are read, declared as those of topics are."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.option import Endpoint, Option, read_endpoints, read_positive, read_values

QUEUE = "queue"
EVERY_STATE = "all"
STATES = ("ready", "in_flight", "delayed", "dead", "done")


def _state(text: str) -> str | None:
    """None for every state."""
    if text.lower() == EVERY_STATE:
        return None
    if text.lower() not in STATES:
        raise ValueError(f"is none of {', '.join((EVERY_STATE, *STATES))}")
    return text.lower()


QUEUE_OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        Option(QUEUE, "", str, "The queue whose messages are read. Required."),
        Option(
            "adminAddress",
            "",
            read_endpoints,
            "HOST:PORT of a node's admin API, as every task can reach it. Required.",
        ),
        Option(
            "queueState",
            EVERY_STATE,
            _state,
            "Which messages: `ready`, `in_flight`, `delayed`, `dead` (received as often as they "
            "may be), `done` (and still stored), or `all`.",
        ),
        Option(
            "brokerTimeoutMs",
            "60000",
            read_positive,
            "How long a node that does not answer is waited for.",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class QueueOptions:
    queue: str
    admin_addresses: tuple[Endpoint, ...]
    state: str | None
    broker_timeout_ms: int


def read_queue_options(given: Mapping[str, str]) -> QueueOptions:
    values = read_values(QUEUE_OPTIONS, given)
    if not values["adminAddress"]:
        raise InvalidOption("the option adminAddress is required to read a queue")
    return QueueOptions(
        values[QUEUE], values["adminAddress"], values["queueState"], values["brokerTimeoutMs"]
    )
