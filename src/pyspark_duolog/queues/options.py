"""Options for reading the messages of a queue, declared as those of topics are."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.option import Endpoint, Option, read_endpoints, read_positive, read_values

QUEUE = "queue"
EVERY_STATE = "all"
STATES = ("ready", "in_flight", "delayed", "dead", "done")


def _state(text: str) -> str | None:
    """Parse a state; None for every state."""
    if text.lower() == EVERY_STATE:
        return None
    if text.lower() not in STATES:
        raise ValueError(f"is none of {', '.join((EVERY_STATE, *STATES))}")
    return text.lower()


QUEUE_OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        Option(QUEUE, "", str, "Queue whose messages are read. Required."),
        Option(
            "adminAddress",
            "",
            read_endpoints,
            "HOST:PORT of a node's admin API, reachable from every task. Required.",
        ),
        Option(
            "queueState",
            EVERY_STATE,
            _state,
            "Messages to read: `ready`, `in_flight`, `delayed`, `dead` (received as often as they "
            "may be), `done` (but still stored), or `all`.",
        ),
        Option(
            "brokerTimeoutMs",
            "60000",
            read_positive,
            "Longest wait for a node that does not answer.",
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
