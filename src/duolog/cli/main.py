"""The command line as a whole. Each command imports its modules when it runs."""

from typing import Annotated

import typer

from duolog.cli import config
from duolog.cli.command_line import App
from duolog.cli.completion import complete, completion
from duolog.cli.nouns import WithNouns
from duolog.cli.output import Format, FormatOption, print_rows
from duolog.cli.serve import serve

app = App(
    name="duolog",
    cls=WithNouns,
    help="A message queue for Kafka and SQS clients, on one node or many.",
)
app.command()(serve)
app.command()(completion)
app.command(hidden=True)(complete)
app.add_typer(config.app, name="config")


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Declare the options of `duolog` itself; `--version`, if given, has ended the process by
    now."""


@app.command()
def version(output: FormatOption = Format.table) -> None:
    """Print the version."""
    from duolog import __version__

    if output is Format.table:
        print(f"duolog {__version__}")
    else:
        print_rows([{"version": __version__}], output, ("version",))
