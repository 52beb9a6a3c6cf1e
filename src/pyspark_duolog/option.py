"""Options: their declaration, the reading of a set of them, and kinds of values that several
share."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark_duolog.errors import InvalidOption

PLAINTEXT = "PLAINTEXT"

_BOOLEANS = {"true": True, "false": False}


class Option(NamedTuple):
    name: str
    default: str
    """Default as a user would write it; empty if there is none."""
    read: Callable[[str], Any]
    doc: str


class Endpoint(NamedTuple):
    host: str
    port: int


def read_values(options: Mapping[str, Option], given: Mapping[str, str]) -> dict[str, Any]:
    """Values by name; None for an option without value and default.

    InvalidOption for an unknown name: a typing error must not change a result.
    """
    by_lower_name = {name.lower(): option for name, option in options.items()}
    values: dict[str, Any] = {}
    for name, text in given.items():
        option = by_lower_name.get(name.lower())
        if option is None:
            raise InvalidOption(f"there is no option '{name}'")
        values[option.name] = _read(option, text)
    for name, option in options.items():
        if name not in values:
            values[name] = _read(option, option.default) if option.default else None
    return values


def _read(option: Option, text: str) -> Any:
    try:
        return option.read(text)
    except ValueError as error:
        raise InvalidOption(f"the option {option.name}: '{text}' {error}") from None


def read_boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError("is neither true nor false")
    return _BOOLEANS[text.lower()]


def read_positive(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < value < 1 << 63:
        raise ValueError("is no positive integer")
    return value


def read_endpoints(text: str) -> tuple[Endpoint, ...]:
    endpoints = []
    for each in text.split(","):
        host, colon, port = each.strip().rpartition(":")
        if not colon or not host or not (port.isascii() and port.isdigit()):
            raise ValueError("is no list of HOST:PORT")
        endpoints.append(Endpoint(host.strip("[]"), int(port)))
    return tuple(endpoints)


def read_security(text: str) -> str:
    if text.upper() != PLAINTEXT:
        raise ValueError("is not supported: brokers accept only PLAINTEXT connections so far")
    return PLAINTEXT


BOOTSTRAP_SERVERS = Option(
    "kafka.bootstrap.servers",
    "",
    read_endpoints,
    "HOST:PORT of one broker or several, separated by commas. Required.",
)
SECURITY_PROTOCOL = Option(
    "kafka.security.protocol",
    PLAINTEXT,
    read_security,
    "Security protocol of broker connections; only PLAINTEXT is supported so far.",
)
BROKER_TIMEOUT = Option(
    "brokerTimeoutMs",
    "60000",
    read_positive,
    "Longest wait for brokers that do not answer, or for partitions without a leader.",
)


def required(values: Mapping[str, Any], option: Option) -> Any:
    if values[option.name] is None:
        raise InvalidOption(f"the option {option.name} is required")
    return values[option.name]
