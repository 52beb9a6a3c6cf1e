"""The command line as a whole. What a command needs is imported when it runs."""

import typer

from duolog.cli import config
from duolog.cli.output import Format, FormatOption, print_rows
from duolog.cli.serve import serve

app = typer.Typer(
    name="duolog",
    help="A distributed message queue: one log, read as a Kafka topic or as an SQS queue.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help: the decorated one takes longer to import than everything else together.
    rich_markup_mode=None,
)
app.command()(serve)
app.add_typer(config.app, name="config")


@app.command()
def version(output: FormatOption = Format.table) -> None:
    """Print the version."""
    from duolog import __version__

    if output is Format.table:
        print(f"duolog {__version__}")
    else:
        print_rows([{"version": __version__}], output, ("version",))
