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
        Path, typer.Option("--data", metavar="DIR", help="Empty, or not there yet.")
    ] = Path("duolog-demo"),
    master: Annotated[
        str, typer.Option(metavar="URL", help="The Spark to run on; by default one of its own.")
    ] = "local[*]",
    seed: Annotated[int, typer.Option(help="Of what is planted.")] = 1,
    output: FormatOption = Format.table,
) -> None:
    """Start a node, make traffic with known mistakes, and let every pipeline find them."""
    from duolog_pipelines.demo.actions import show_pipelines

    show_pipelines(data, master, seed, output)
