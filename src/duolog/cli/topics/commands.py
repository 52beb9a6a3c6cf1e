"""The command lines of `duolog topic`. Each command imports its modules when it runs."""

from enum import StrEnum
from typing import Annotated

import typer

from duolog.cli import completers
from duolog.cli.command_line import App
from duolog.cli.consent import DryRunOption, YesOption
from duolog.cli.given import ConfigOption, KafkaOption, door_address
from duolog.cli.output import Format, FormatOption

app = App()


class Codec(StrEnum):
    none = "none"
    gzip = "gzip"
    snappy = "snappy"
    lz4 = "lz4"
    zstd = "zstd"


NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The topic.", autocompletion=completers.topics)
]


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new topic.")],
    partitions: Annotated[
        int | None,
        typer.Option(
            "-p", "--partitions", metavar="N", min=1, help="How many; else as the node is set."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            *("-c", "--set"),
            metavar="NAME=VALUE",
            help="Setting of the topic; may be repeated.",
            autocompletion=completers.topic_settings,
        ),
    ] = None,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Make a topic."""
    from duolog.cli.session import run
    from duolog.cli.topics import actions

    address = door_address("kafka", kafka, config)
    run(actions.create(address, name, partitions, settings, output))


@app.command("ls")
def list_(
    internal: Annotated[
        bool, typer.Option("--internal", help="List internal topics, too.")
    ] = False,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """List topics."""
    from duolog.cli.session import run
    from duolog.cli.topics import actions

    run(actions.list_all(door_address("kafka", kafka, config), internal, output))


@app.command()
def info(
    name: NameArgument,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Describe a topic: its partitions, offsets and settings."""
    from duolog.cli.known_names import known_to
    from duolog.cli.session import run
    from duolog.cli.topics import actions

    address = door_address("kafka", kafka, config)
    run(actions.info(address, name, output), known_to(address))


@app.command()
def produce(
    name: NameArgument,
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="VALUE", help="By default each line of standard input."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("-k", "--key", metavar="KEY", help="Key of every record.")
    ] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option(
            *("-H", "--header"),
            metavar="NAME=VALUE",
            help="Header of every record; may be repeated.",
        ),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option(
            "--partition", metavar="N", min=0, help="Write there; by default by key, or in turn."
        ),
    ] = None,
    compression: Annotated[
        Codec, typer.Option("-z", "--compression", help="How to compress batches.")
    ] = Codec.none,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Write records, and print where each of them is."""
    from duolog.cli.known_names import known_to
    from duolog.cli.session import reporting
    from duolog.cli.topics.produce import Template, produce

    address = door_address("kafka", kafka, config)
    with reporting(known_to(address)):
        template = Template.parse(key, headers, partition, compression)
        produce(address, name, values, template, output)


@app.command()
def consume(
    name: NameArgument,
    offset: Annotated[
        str,
        typer.Option(
            "--offset",
            metavar="RANGE",
            help="Where to read: start, end, 10, 10:20, @-1h, @-1h:end or @2026-01-01T00:00:00Z.",
        ),
    ] = "start",
    partitions: Annotated[
        list[int] | None,
        typer.Option(
            "--partition", metavar="N", min=0, help="Read only this one; may be repeated."
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("-n", "--count", metavar="N", min=1, help="Stop after this many records."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more at the end, until interrupted.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            help=r"As kcat: %t topic, %p partition, %o offset, %k key, %s value, %h headers,"
            r" %T timestamp, %S and %K sizes; \n \t \xNN.",
        ),
    ] = None,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Read records."""
    from duolog.cli.known_names import known_to
    from duolog.cli.session import reporting, run
    from duolog.cli.topics.consume import Wanted, consume

    with reporting():
        wanted = Wanted.parse(offset, partitions, count, follow, form)
    address = door_address("kafka", kafka, config)
    run(consume(address, name, wanted, output), known_to(address))


@app.command("rm")
def remove(
    name: NameArgument,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Remove a topic and all its records."""
    from duolog.cli.known_names import known_to
    from duolog.cli.session import run
    from duolog.cli.topics import actions

    address = door_address("kafka", kafka, config)
    run(actions.remove(address, name, output, yes=yes, dry_run=dry_run), known_to(address))
