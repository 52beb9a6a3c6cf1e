"""The settings that a command line, the environment and a file give together."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duolog.cli.failures import ExitCode, fail

if TYPE_CHECKING:
    from duolog.config.settings import Settings

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML file with settings.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated."),
]

_ADVICE = "Run `duolog config reference` to see every setting and what it accepts."


def load_settings(
    named: Mapping[str, str | None], assignments: Sequence[str] | None, file: Path | None
) -> "Settings":
    """`named` are the flags that have a name of their own, by setting; None is not given."""
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
