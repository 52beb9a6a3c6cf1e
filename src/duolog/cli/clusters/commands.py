"""The command lines of `duolog cluster`. Each command imports its modules when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duolog.cli.command_line import App
from duolog.cli.consent import DryRunOption, YesOption
from duolog.cli.given import AdminOption, ConfigOption, KafkaOption, SetOption, door_address
from duolog.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from duolog.config.address import Address

app = App()

DataOption = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="Where the local cluster lives.")
]
RunningOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Ask a node of the local cluster there."),
]
NodeArgument = Annotated[int, typer.Argument(metavar="NODE", min=0, help="The node's number.")]

_DATA = Path("./duolog-cluster")


@app.command()
def up(
    nodes: Annotated[int, typer.Option(min=1, max=9, help="How many nodes.")] = 3,
    etcd_members: Annotated[
        int, typer.Option(min=1, max=5, help="How many members its etcd has.")
    ] = 1,
    data: DataOption = _DATA,
    ready_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File that holds the addresses while all serve."),
    ] = None,
    free_ports: Annotated[
        bool, typer.Option("--free-ports", help="Use free ports instead of the usual ones.")
    ] = False,
    assignments: SetOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Run an etcd and some nodes on this machine, until told to stop."""
    from duolog.cli.clusters import local

    local.up(
        nodes,
        etcd_members,
        data,
        ready_file,
        output,
        free_ports=free_ports,
        settings=assignments or (),
    )


@app.command()
def down(data: DataOption = _DATA, output: FormatOption = Format.table) -> None:
    """Stop the local cluster; its data stay."""
    from duolog.cli.clusters import local

    local.order(data, output, "down")


@app.command()
def kill(node: NodeArgument, data: DataOption = _DATA, output: FormatOption = Format.table) -> None:
    """Kill a node of the local cluster, without a warning."""
    from duolog.cli.clusters import local

    local.order(data, output, "kill", node)


@app.command()
def start(
    node: NodeArgument, data: DataOption = _DATA, output: FormatOption = Format.table
) -> None:
    """Start a node of the local cluster again."""
    from duolog.cli.clusters import local

    local.order(data, output, "start", node)


@app.command()
def status(
    data: RunningOption = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Describe the nodes of a cluster, and what is wrong with its partitions."""
    from duolog.cli.clusters import actions
    from duolog.cli.session import run

    run(actions.status(_asked(data, admin, config), output))


@app.command()
def events(
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="Show this many of the newest.")
    ] = 50,
    data: RunningOption = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """List what the controller has decided, and why."""
    from duolog.cli.clusters import actions
    from duolog.cli.session import run

    run(actions.events(_asked(data, admin, config), limit, output))


@app.command()
def drain(
    node: NodeArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Let it take part again.")] = False,
    data: RunningOption = None,
    admin: AdminOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Move leaders and copies away from a node, so that it can be stopped."""
    from duolog.cli.clusters import actions
    from duolog.cli.session import run

    run(actions.drain(_asked(data, admin, config), node, output, undo=undo))


@app.command()
def apply(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", readable=False, help="What `load` has advised.")
    ],
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    kafka: KafkaOption = None,
    config: ConfigOption = None,
    output: FormatOption = Format.table,
) -> None:
    """Add partitions and move them as a file says that the pipeline `load` has made."""
    from duolog.cli.clusters.applying import apply
    from duolog.cli.session import run

    run(apply(door_address("kafka", kafka, config), file, output, yes=yes, dry_run=dry_run))


@app.command()
def certs(
    nodes: Annotated[
        list[str],
        typer.Option(
            "--node", metavar="ID=HOST,...", help="Names and addresses of a node; may be repeated."
        ),
    ],
    cluster: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the cluster, as given to `serve`.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for the files, and for the CA.")
    ],
    days: Annotated[int, typer.Option(min=1, max=3_650, help="How long they are valid.")] = 365,
    output: FormatOption = Format.table,
) -> None:
    """Make certificates by which the nodes know each other, and a CA unless there is one."""
    from duolog.cli.clusters.certs import certs
    from duolog.cli.session import reporting

    with reporting():
        certs(cluster, out, nodes, days, output)


def _asked(data: Path | None, admin: str | None, config: Path | None) -> "Address":
    """The admin API of the node to ask."""
    if data is None:
        return door_address("admin", admin, config)
    from duolog.cli.clusters import local

    return local.some_admin(data)
