"""The command lines of `duolog queue`. Each command imports its modules when it runs."""

from enum import StrEnum
from typing import Annotated

import typer

from duolog.cli import completers
from duolog.cli.command_line import App
from duolog.cli.consent import DryRunOption, YesOption
from duolog.cli.given import AdminOption, ConfigOption, SqsOption
from duolog.cli.output import Format, FormatOption

app = App()

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The queue.", autocompletion=completers.queues)
]


class State(StrEnum):
    ready = "ready"
    in_flight = "in_flight"
    delayed = "delayed"
    dead = "dead"
    done = "done"


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new queue.")],
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "-a", "--attribute", metavar="NAME=VALUE", help="Attribute, as in SQS; may be repeated."
        ),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="NAME=VALUE", help="Tag of the queue; may be repeated."),
    ] = None,
    dead_letter: Annotated[
        str | None,
        typer.Option(
            metavar="QUEUE",
            help="Queue for messages that were received too often.",
            autocompletion=completers.queues,
        ),
    ] = None,
    max_receives: Annotated[
        int, typer.Option(metavar="N", min=1, help="Receives before a message goes there.")
    ] = 10,
    source_topic: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC",
            help="Make a queue of the records of this topic.",
            autocompletion=completers.topics,
        ),
    ] = None,
    sqs: SqsOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Make a queue. One whose name ends in .fifo is a FIFO queue."""
    from duolog.cli.known_names import known_to_sqs
    from duolog.cli.queues import actions
    from duolog.cli.queues.doors import Doors
    from duolog.cli.session import run

    wanted = actions.Wanted(attributes, tags, dead_letter, max_receives, source_topic)
    doors = Doors(config, sqs=sqs)
    run(actions.create(doors, name, wanted, output), known_to_sqs(doors))


@app.command("ls")
def list_(
    prefix: Annotated[
        str,
        typer.Argument(
            metavar="PREFIX",
            help="List only queues whose names begin so.",
            autocompletion=completers.queues,
        ),
    ] = "",
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """List queues, with how many messages each has."""
    from duolog.cli.queues import actions
    from duolog.cli.queues.doors import Doors
    from duolog.cli.session import run

    run(actions.list_all(Doors(config, admin=admin), prefix, output))


@app.command()
def info(
    name: NameArgument,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Describe a queue: its counts, attributes and tags."""
    from duolog.cli.known_names import known_behind
    from duolog.cli.queues import actions
    from duolog.cli.queues.doors import Doors
    from duolog.cli.session import run

    doors = Doors(config, admin=admin)
    run(actions.info(doors, name, output), known_behind(doors))


@app.command()
def send(
    name: NameArgument,
    bodies: Annotated[
        list[str] | None,
        typer.Argument(metavar="BODY", help="By default each line of standard input."),
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="GROUP", help="Message group; FIFO queues need one.")
    ] = None,
    dedup: Annotated[
        str | None, typer.Option(metavar="ID", help="Deduplication id, for a FIFO queue.")
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(metavar="SECONDS", min=0, max=900, help="Time before they can be received."),
    ] = None,
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            *("-a", "--attribute"),
            metavar="NAME=VALUE",
            help="Attribute of every message; may be repeated.",
        ),
    ] = None,
    sqs: SqsOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Send messages, and print their ids."""
    from duolog.cli.known_names import known_to_sqs
    from duolog.cli.queues.doors import Doors
    from duolog.cli.queues.send import Template, send
    from duolog.cli.session import reporting

    doors = Doors(config, sqs=sqs)
    with reporting(known_to_sqs(doors)):
        template = Template.parse(group, dedup, delay, attributes)
        send(doors, name, bodies, template, output)


@app.command()
def receive(
    name: NameArgument,
    count: Annotated[
        int, typer.Option("-n", "--count", metavar="N", min=1, help="Receive at most this many.")
    ] = 1,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for messages.")
    ] = 0,
    visibility: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=43_200,
            help="How long to hide them; else as the queue is set.",
        ),
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete each once it is printed.")
    ] = False,
    sqs: SqsOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Receive messages, which hides them from others for a while."""
    from duolog.cli.known_names import known_to_sqs
    from duolog.cli.queues.doors import Doors
    from duolog.cli.queues.receive import Wanted, receive
    from duolog.cli.session import run

    wanted = Wanted(count, wait, visibility, delete)
    doors = Doors(config, sqs=sqs)
    run(receive(doors, name, wanted, output), known_to_sqs(doors))


@app.command()
def peek(
    name: NameArgument,
    state: Annotated[
        State | None, typer.Option(help="Only messages in this state; else all but done.")
    ] = None,
    message_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Only the message with this id.")
    ] = None,
    from_offset: Annotated[
        int,
        typer.Option("--from", metavar="OFFSET", min=0, help="Where to begin in each partition."),
    ] = 0,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Show at most this many.")] = 10,
    partition: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Look only there.")
    ] = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Look at messages without receiving them. Done ones are shown with --state done."""
    from duolog.cli.known_names import known_behind
    from duolog.cli.queues.doors import Doors
    from duolog.cli.queues.peek import Wanted, peek
    from duolog.cli.session import run

    wanted = Wanted(state, message_id, from_offset, limit, partition)
    doors = Doors(config, admin=admin)
    run(peek(doors, name, wanted, output), known_behind(doors))


@app.command()
def purge(
    name: NameArgument,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    sqs: SqsOption = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Delete all messages of a queue."""
    from duolog.cli.known_names import known_behind
    from duolog.cli.queues import actions
    from duolog.cli.queues.doors import Doors
    from duolog.cli.session import run

    doors = Doors(config, sqs=sqs, admin=admin)
    run(actions.purge(doors, name, output, yes=yes, dry_run=dry_run), known_behind(doors))


@app.command()
def redrive(
    name: Annotated[
        str,
        typer.Argument(
            metavar="DLQ", help="The dead-letter queue.", autocompletion=completers.queues
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="QUEUE",
            help="By default each message goes back to where it came from.",
            autocompletion=completers.queues,
        ),
    ] = None,
    rate: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=500, help="Messages a second at most.")
    ] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Only start it; the node goes on by itself.")
    ] = False,
    sqs: SqsOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Move the messages of a dead-letter queue back."""
    from duolog.cli.known_names import known_to_sqs
    from duolog.cli.queues.doors import Doors
    from duolog.cli.queues.redrive import redrive
    from duolog.cli.session import run

    doors = Doors(config, sqs=sqs)
    run(redrive(doors, name, to, rate, output, wait=not no_wait), known_to_sqs(doors))


@app.command()
def replay(
    name: NameArgument,
    first: Annotated[
        str,
        typer.Option(
            "--from", metavar="TIME", help="Sent since then: start, @-1h or @2026-01-01T00:00:00Z."
        ),
    ] = "start",
    end: Annotated[
        str, typer.Option("--to", metavar="TIME", help="Sent before: end, or a time.")
    ] = "end",
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Deliver deleted messages again that the queue has retained, by when they were sent."""
    from duolog.cli.known_names import known_behind
    from duolog.cli.queues import actions
    from duolog.cli.queues.doors import Doors
    from duolog.cli.session import run

    doors = Doors(config, admin=admin)
    run(actions.replay(doors, name, first, end, output), known_behind(doors))


@app.command("rm")
def remove(
    name: NameArgument,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    sqs: SqsOption = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Remove a queue and all its messages."""
    from duolog.cli.known_names import known_behind
    from duolog.cli.queues import actions
    from duolog.cli.queues.doors import Doors
    from duolog.cli.session import run

    doors = Doors(config, sqs=sqs, admin=admin)
    run(actions.remove(doors, name, output, yes=yes, dry_run=dry_run), known_behind(doors))
