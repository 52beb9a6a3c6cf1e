"""The command lines of `duolog group`. Each command imports its modules when it runs."""

from typing import Annotated

import typer

from duolog.cli import completers
from duolog.cli.command_line import App
from duolog.cli.consent import DryRunOption, YesOption
from duolog.cli.given import ConfigOption, KafkaOption, door_address
from duolog.cli.output import Format, FormatOption

app = App()

GroupArgument = Annotated[
    str,
    typer.Argument(metavar="GROUP", help="The consumer group.", autocompletion=completers.groups),
]


@app.command("ls")
def list_(
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """List consumer groups."""
    from duolog.cli.groups import actions
    from duolog.cli.session import run

    run(actions.list_all(door_address("kafka", kafka, config), output))


@app.command()
def info(
    group: GroupArgument,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Describe a group: its members, and how far behind they are."""
    from duolog.cli.groups import actions
    from duolog.cli.known_names import known_to
    from duolog.cli.session import run

    address = door_address("kafka", kafka, config)
    run(actions.info(address, group, output), known_to(address))


@app.command()
def reset(
    group: GroupArgument,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="POSITION",
            help="Where to go on: start, end, 10, @-1h or @2026-01-01T00:00:00Z.",
            show_default=False,
        ),
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="TOPIC",
            help="By default all that the group has read; may be repeated.",
            autocompletion=completers.topics,
        ),
    ] = None,
    partitions: Annotated[
        list[int] | None,
        typer.Option("--partition", metavar="N", min=0, help="By default all; may be repeated."),
    ] = None,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Let a group that has no members now go on from somewhere else."""
    from duolog.cli.groups import actions
    from duolog.cli.known_names import known_to
    from duolog.cli.session import run

    address = door_address("kafka", kafka, config)
    selected = actions.Selection(frozenset(topics or ()), frozenset(partitions or ()))
    work = actions.reset(address, group, to, selected, output, yes=yes, dry_run=dry_run)
    run(work, known_to(address))
