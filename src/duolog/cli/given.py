"""The settings that a command line, the environment and a file give together."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from duolog.cli import completers
from duolog.cli.failures import ExitCode, Failure, fail

if TYPE_CHECKING:
    from duolog.config.address import Address
    from duolog.config.settings import Settings

ConfigOption = Annotated[
    Path | None,
    # Not checked here: reading the file gives a better error than the option parser would.
    typer.Option(
        "--config", metavar="FILE", readable=False, help="Read settings from this TOML file."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Give any setting a value; may be repeated.",
        autocompletion=completers.settings,
    ),
]
KafkaOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Where the Kafka door is; else DUOLOG_KAFKA_LISTEN or --config."
    ),
]
SqsOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Where the SQS door is; else DUOLOG_SQS_LISTEN or --config."
    ),
]
AdminOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Where the admin API is; else DUOLOG_ADMIN_LISTEN or --config."
    ),
]

Door = Literal["kafka", "sqs", "admin"]

_PORTS: Mapping[Door, int] = {"kafka": 9092, "sqs": 9324, "admin": 9325}

_ADVICE = "Run `duolog config reference` to see every setting and what it accepts."


def load_settings(
    named: Mapping[str, str | None], assignments: Sequence[str] | None, file: Path | None
) -> "Settings":
    """Load the settings; `named` are flags with a name of their own, None where not given."""
    from duolog.config.settings import FileUnusable, SettingError, Settings

    flags = {name: text for name, text in named.items() if text is not None}
    for assignment in assignments or ():
        name, equals, text = assignment.partition("=")
        if not equals:
            what = f"--set was given '{assignment}', which is not of the form name=value."
            fail(f"{what} For example: --set num.partitions=4.", ExitCode.USAGE)
        flags[name.strip()] = text
    try:
        return Settings.load(flags, os.environ, file)
    except FileUnusable as problem:
        fail(str(problem), ExitCode.USAGE)
    except SettingError as problem:
        fail(f"{problem} {_ADVICE}", ExitCode.USAGE)


def door_address(door: Door, given: str | None, file: Path | None) -> "Address":
    """Address of a node's door, as a client reaches it, from the settings that the node uses."""
    if given is not None:
        _check_address(door, given)
    settings = load_settings({f"{door}.listen": given}, None, file)
    address = settings.address(f"{door}.listen")
    if address is None:
        fail(f"The settings close the {door} door. Name it with --{door}.", ExitCode.USAGE)
    if given is None and door == "kafka":
        advertised = settings.address("kafka.advertised")
        if advertised is not None:
            address = advertised._replace(port=advertised.port or address.port)
    return from_here(address)


def _check_address(door: Door, given: str) -> None:
    """In the option's name rather than in that of the setting that it stands for."""
    from duolog.config.address import parse_address

    try:
        parse_address(given)
    except ValueError:
        what = f"--{door} was given '{given}', but must be host:port."
        fail(f"{what} For example: --{door} 127.0.0.1:{_PORTS[door]}.", ExitCode.USAGE)


def from_here(address: "Address") -> "Address":
    """The address, with a wildcard replaced by loopback."""
    if address.is_wildcard:
        return address._replace(host="::1" if ":" in address.host else "127.0.0.1")
    return address


def parse_pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Parse `name=value` texts of an option that may be repeated."""
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Failure(
                f"{option} was given '{text}', which is not of the form name=value."
                f" For example: {option} colour=blue.",
                ExitCode.USAGE,
            )
        pairs[name] = value
    return pairs
