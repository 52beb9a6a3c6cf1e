"""`duolog serve`: run a node in the foreground."""

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duolog.cli.failures import ExitCode, fail
from duolog.cli.given import ConfigOption, SetOption, from_here, load_settings

if TYPE_CHECKING:
    from duolog.config.settings import Settings


def serve(
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where to store everything.")
    ] = None,
    kafka: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where Kafka clients connect.")
    ] = None,
    sqs: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where SQS clients connect.")
    ] = None,
    admin: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where operators find health, metrics and queues."),
    ] = None,
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Join this cluster.")] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The cluster's metadata store: etcd://host:port,host:port."
        ),
    ] = None,
    node_id: Annotated[
        str | None, typer.Option(metavar="N", help="This node's number in the cluster.")
    ] = None,
    rack: Annotated[
        str | None, typer.Option(metavar="NAME", help="Rack or zone of this node.")
    ] = None,
    roles: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Some of broker,frontend,controller; by default all."),
    ] = None,
    peer: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where the other nodes connect.")
    ] = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    ready_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File that holds the addresses while the node serves."),
    ] = None,
) -> None:
    """Run a node in the foreground, until it is told to stop."""
    named = {
        "data.dir": data,
        "kafka.listen": kafka,
        "sqs.listen": sqs,
        "admin.listen": admin,
        "cluster.name": cluster,
        "store.address": store,
        "node.id": node_id,
        "node.rack": rack,
        "node.roles": roles,
        "peer.listen": peer,
    }
    settings = load_settings(named, assignments, config)

    from duolog.app import node
    from duolog.observe.logs import resolve_format

    is_for_people = resolve_format(settings.text("log.format"), sys.stderr) == "text"
    greet = partial(_greet, settings) if is_for_people else _keep_silent
    try:
        code = node.run(settings, ready_file, greet)
    except node.StartRefused as refusal:
        fail(str(refusal), ExitCode.FAILED)
    raise typer.Exit(code)


def _greet(settings: "Settings", addresses: dict[str, str]) -> None:
    from duolog.cli.banner import SqsDoor, banner
    from duolog.config.address import parse_address

    seen = {door: str(from_here(parse_address(text))) for door, text in addresses.items()}
    sqs_door = SqsDoor(
        account_id=settings.text("sqs.account.id"),
        region=settings.text("sqs.region"),
        has_credentials=bool(settings.get("sqs.credentials")),
    )
    # A terminal that is gone by now costs its reader the greeting, and nobody the node.
    with suppress(OSError):
        print(banner(seen, sqs_door), file=sys.stderr, flush=True)


def _keep_silent(addresses: dict[str, str]) -> None:
    """Between lines of JSON, a greeting would be noise."""
