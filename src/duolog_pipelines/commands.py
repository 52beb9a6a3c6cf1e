"""The command lines of `duolog pipeline`. Each command imports its modules when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duolog.cli.command_line import App
from duolog.cli.given import (
    AdminOption,
    ConfigOption,
    KafkaOption,
    door_address,
    load_settings,
    parse_pairs,
)
from duolog.cli.output import Format, FormatOption
from duolog_pipelines.session import DRIVER_MEMORY, LOCAL_MASTER

if TYPE_CHECKING:
    from duolog_pipelines.lake import Lake
    from duolog_pipelines.running import Place

app = App()


def pipeline_names(incomplete: str) -> list[str]:
    from duolog_pipelines.registry import MODULES

    return list(MODULES)


DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Keep results in DIR/pipelines; else DUOLOG_PIPELINES_DIR or --config.",
    ),
]
MasterOption = Annotated[
    str, typer.Option(metavar="URL", help="Spark to run on; by default an embedded one.")
]
MemoryOption = Annotated[
    str, typer.Option("--driver-memory", metavar="SIZE", help="Memory of the embedded Spark.")
]
GivenOption = Annotated[
    list[str] | None,
    typer.Option(
        "-O",
        "--option",
        metavar="NAME=VALUE",
        help="Option of a pipeline, as `ls -o json` lists them; may be repeated.",
    ),
]
NamesArgument = Annotated[
    list[str],
    typer.Argument(metavar="NAME", help="The pipelines to run.", autocompletion=pipeline_names),
]


@app.command("ls")
def list_(output: FormatOption = Format.table) -> None:
    """List the pipelines there are."""
    from duolog_pipelines import actions

    actions.list_all(output)


@app.command()
def run(
    names: NamesArgument,
    once: Annotated[
        bool, typer.Option("--once", help="Process what is there now, and end.")
    ] = False,
    every: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.1, help="Time from the start of a round to the next."
        ),
    ] = 60.0,
    given: GivenOption = None,
    master: MasterOption = LOCAL_MASTER,
    driver_memory: MemoryOption = DRIVER_MEMORY,
    data: DataOption = None,
    kafka: KafkaOption = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Run pipelines, round after round until interrupted, or once."""
    from duolog_pipelines import actions

    with actions.reporting():
        actions.run(
            names,
            parse_pairs(given, "--option"),
            _place(data, kafka, admin, config),
            actions.Engine(master, driver_memory),
            output,
            every_seconds=None if once else every,
        )


@app.command()
def backfill(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The pipeline.", autocompletion=pipeline_names)
    ],
    first: Annotated[
        str,
        typer.Option(
            "--from", metavar="TIME", help="Begin there: start, @-1h or @2026-01-01T00:00:00Z."
        ),
    ] = "start",
    end: Annotated[
        str, typer.Option("--to", metavar="TIME", help="Stop before: end, or a time.")
    ] = "end",
    given: GivenOption = None,
    master: MasterOption = LOCAL_MASTER,
    driver_memory: MemoryOption = DRIVER_MEMORY,
    data: DataOption = None,
    kafka: KafkaOption = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Compute the results of a stretch of time again, from what is stored."""
    from duolog_pipelines import actions

    with actions.reporting():
        actions.backfill(
            name,
            (first, end),
            parse_pairs(given, "--option"),
            _place(data, kafka, admin, config),
            actions.Engine(master, driver_memory),
            output,
        )


@app.command()
def status(
    data: DataOption = None, config: ConfigOption = None, output: FormatOption = Format.table
) -> None:
    """Tell how the last run of each pipeline went; ends with 10 when one failed."""
    from duolog_pipelines import actions

    with actions.reporting():
        actions.status(_lake(data, config), output)


@app.command()
def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Only these pipelines; by default all.",
            autocompletion=pipeline_names,
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with charts, too.")
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Show what pipelines have found."""
    from duolog_pipelines import actions

    with actions.reporting():
        actions.report(names or [], html, _lake(data, config), output)


def _lake(data: Path | None, config: Path | None) -> "Lake":
    from duolog.config.pipelines import pipelines_directory
    from duolog_pipelines.lake import Lake

    if data is not None:
        return Lake.within(data)
    return Lake(pipelines_directory(load_settings({}, None, config)).absolute())


def _place(data: Path | None, kafka: str | None, admin: str | None, config: Path | None) -> "Place":
    from duolog_pipelines.running import Place

    return Place(
        str(door_address("kafka", kafka, config)),
        str(door_address("admin", admin, config)),
        _lake(data, config),
    )
