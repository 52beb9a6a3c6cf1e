"""The command lines of `duolog demo`. Each command imports its modules when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from duolog.cli.command_line import App
from duolog.cli.output import Format, FormatOption

app = App()


@app.callback()
def main() -> None:
    """A group, though there is one command: `duolog demo` alone tells which there are."""


@app.command()
def pipeline(
    data: Annotated[
        Path,
        typer.Option("--data", metavar="DIR", help="Directory to use, empty or not there yet."),
    ] = Path("duolog-demo"),
    master: Annotated[
        str, typer.Option(metavar="URL", help="Spark to run on; by default an embedded one.")
    ] = "local[*]",
    seed: Annotated[int, typer.Option(help="Seed of the random losses and duplicates.")] = 1,
    output: FormatOption = Format.table,
) -> None:
    """Start a node, make traffic with known mistakes, and let every pipeline find them."""
    from duolog_pipelines.actions import reporting
    from duolog_pipelines.session import check_installed

    with reporting():
        check_installed()
        # Cannot be imported where something is missing.
        from duolog_pipelines.demo.actions import show_pipelines

        show_pipelines(data, master, seed, output)
