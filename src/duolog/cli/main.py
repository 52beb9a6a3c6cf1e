"""The command line as a whole. Each command imports its modules when it runs."""

from typing import Annotated

import typer

from duolog.cli import config
from duolog.cli.command_line import App
from duolog.cli.completion import complete, completion
from duolog.cli.nouns import WithNouns
from duolog.cli.output import Format, FormatOption, print_rows, tell
from duolog.cli.serve import serve

app = App(
    name="duolog",
    cls=WithNouns,
    help="A message queue for Kafka and SQS clients, on one node or many.",
)
app.command()(serve)
app.add_typer(config.app, name="config")


def _print_version(wanted: bool) -> None:
    if wanted:
        from duolog import __version__

        print(f"duolog {__version__}")
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
    """Print the version, and which modules in C were built."""
    from duolog import __version__
    from duolog.observe.c_modules import NODE_MODULES, SPARK_MODULES, missing

    modules = (*NODE_MODULES, *SPARK_MODULES)
    slower = missing(modules)
    if output is not Format.table:
        built = {name: name not in slower for name in modules}
        print_rows([{"version": __version__, "c_modules": built}], output, ())
        return
    print(f"duolog {__version__}")
    print(f"C modules: {len(modules) - len(slower)} of {len(modules)} are built")
    for name in slower:
        print(f"  missing: {name}")
    if slower:
        tell(
            "Without them some work takes more time. Install a C compiler (on Debian: apt-get"
            " install gcc libc6-dev python3-dev), then run `.venv/bin/pip install -e .` in your"
            " clone."
        )


app.command()(completion)
app.command(hidden=True)(complete)
