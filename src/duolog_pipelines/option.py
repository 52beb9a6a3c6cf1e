"""Options of a pipeline, given by `--option name=value`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from duolog.cli.values import likely
from duolog_pipelines.errors import InvalidInput


class Option(NamedTuple):
    name: str
    default: str
    """Default as a user would write it; empty if there is none."""
    read: Callable[[str], Any]
    """Parses a value. The text of its ValueError continues a sentence after the value."""
    doc: str


def declared(*options: Option) -> dict[str, Option]:
    return {option.name: option for option in options}


def read_values(options: Mapping[str, Option], given: Mapping[str, str]) -> dict[str, Any]:
    """Values by name; None for an option without value and default.

    InvalidInput for an unknown name: a typing error must not change a result.
    """
    for name in given:
        if name not in options:
            meant = likely(name, options)
            advice = f"Did you mean '{meant}'? " if meant else ""
            known = ", ".join(options) or "none"
            raise InvalidInput(f"There is no option '{name}' here. {advice}There are: {known}.")
    values = {}
    for name, option in options.items():
        text = given.get(name, option.default)
        try:
            values[name] = option.read(text) if text else None
        except ValueError as error:
            raise InvalidInput(f"The option {name}: '{text}' {error}. {option.doc}") from None
    return values


def read_text(text: str) -> str:
    return text


def read_flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("is neither true nor false")
    return text == "true"


def read_count(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < value < 1 << 63:
        raise ValueError("is no positive integer")
    return value


def read_hours(text: str) -> int:
    """Parse a number of hours, which may be 0."""
    if not (text.isascii() and text.isdigit()) or len(text) > 6:
        raise ValueError("is no number of hours")
    return int(text)


def read_choice(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"is none of {', '.join(choices)}")
        return text

    return read
