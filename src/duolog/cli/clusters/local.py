"""The cluster on this machine: runs it, and sends it orders."""

import asyncio
import socket
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from duolog.app.data_directory import StartRefused
from duolog.app.local.control import NotRunning, Order, give_order
from duolog.app.local.layout import open_layout, read_layout
from duolog.app.local.supervisor import run_local_cluster
from duolog.cli.failures import ExitCode, fail
from duolog.cli.output import Format, print_rows, tell
from duolog.config.address import Address, parse_address

_CONNECT_SECONDS_MAX = 1.0


def up(
    nodes: int,
    etcd_members: int,
    data: Path,
    ready_file: Path | None,
    output: Format,
    *,
    free_ports: bool,
    settings: Sequence[str],
) -> None:
    directory = data.absolute()
    try:
        layout = open_layout(directory, nodes, etcd_members, free_ports=free_ports)
        tell(f"starting an etcd and {nodes} nodes in {data}")
        run_local_cluster(directory, layout, ready_file, settings, tell, partial(_greet, output))
    except StartRefused as refusal:
        fail(str(refusal), ExitCode.FAILED)


def order(data: Path, output: Format, verb: str, node: int | None = None) -> None:
    try:
        outcome = asyncio.run(give_order(data.absolute(), Order(verb, node or 0)))
    except NotRunning as error:
        said = f"{str(error)[:1].upper()}{str(error)[1:]}"
        fail(f"{said}. Start one with `duolog cluster up`.", ExitCode.UNREACHABLE)
    if not outcome.done:
        fail(outcome.text, ExitCode.FAILED)
    tell(outcome.text)
    if output is not Format.table:
        print_rows([{"verb": verb, "node": node, "done": True}], output, ())


def some_admin(data: Path) -> Address:
    """The admin API of the first node of the local cluster that takes connections."""
    layout = read_layout(data.absolute())
    addresses = [] if layout is None else [parse_address(node.admin) for node in layout.nodes]
    found = next(filter(_takes_connections, addresses), None)
    if found is None:
        text = f"No cluster runs in {data.absolute()}. Start one with `duolog cluster up`."
        fail(text, ExitCode.UNREACHABLE)
    return found


def _takes_connections(address: Address) -> bool:
    try:
        socket.create_connection(address, _CONNECT_SECONDS_MAX).close()
    except OSError:
        return False
    return True


def _greet(output: Format, described: dict[str, Any]) -> None:
    if output is not Format.table:
        print_rows(described["nodes"], output, ())
        sys.stdout.flush()
        return
    lines = ["", "The cluster is ready.", ""]
    for node in described["nodes"]:
        lines.append(
            f"  node {node['id']}  Kafka {node['kafka']}  SQS http://{node['sqs']}"
            f"  admin http://{node['admin']}  pid {node['pid']}"
        )
    bootstrap = ",".join(node["kafka"] for node in described["nodes"])
    lines += ["", f"  bootstrap.servers={bootstrap}", "", "  Stop with Ctrl-C.", ""]
    tell("\n".join(lines))
