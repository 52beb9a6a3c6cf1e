"""Actions of `duolog cluster` on a running cluster."""

from datetime import UTC, datetime

import msgspec

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, counted, print_rows, tell
from duolog.client.cluster_operator import NODE_ALONE, ClusterDetails, ClusterOperator
from duolog.client.errors import Refused
from duolog.config.address import Address

_COLUMNS = ("id", "alive", "controller", "draining", "roles", "leads", "copies", "kafka", "sqs")


async def status(admin: Address, output: Format) -> None:
    async with ClusterOperator(admin) as operator:
        try:
            told = await operator.described()
        except Refused as refusal:
            if refusal.name != NODE_ALONE:
                raise
            _tell_alone(await operator.reasons_not_ready(), output)
            return
    rows = [msgspec.to_builtins(node) for node in told.nodes]
    print_rows(rows, output, _COLUMNS)
    if (problem := _problem(told)) is not None:
        raise Failure(" ".join((problem, *_broken_links(told))), ExitCode.UNHEALTHY)
    for sentence in _broken_links(told):
        tell(sentence)
    tell(f"{counted(told.partitions.total, 'partition')}, all led and in sync")


def _tell_alone(reasons: dict[str, str], output: Format) -> None:
    """Report on a node without a cluster, which is healthy if it is ready."""
    if reasons:
        raise Failure(
            f"The node that was asked is in no cluster, and not ready:"
            f" {', '.join(reasons.values())}. Wait until it is; its log says what it waits for.",
            ExitCode.UNHEALTHY,
        )
    if output is not Format.table:
        print_rows([], output, _COLUMNS)
    tell("This node is alone: it belongs to no cluster, and it is ready.")


def _problem(told: ClusterDetails) -> str | None:
    partitions = told.partitions
    # First, because nothing else that such a node tells can be relied on.
    if not told.in_touch:
        return (
            "The node that was asked has lost touch with the metadata store: it serves nothing, and"
            " what is shown is what it last knew. Check that etcd runs and that the node reaches"
            " it, or ask another node."
        )
    if told.controller is None:
        return "No node is the controller. Check that etcd and a node with that role run."
    if partitions.leaderless:
        return (
            f"{counted(partitions.leaderless, 'partition')} of {partitions.total} cannot be used:"
            " nobody leads. Start the nodes that are not alive; `duolog cluster events` says why."
        )
    if partitions.under_replicated:
        return (
            f"{counted(partitions.under_replicated, 'partition')} of {partitions.total}"
            f" {'lacks' if partitions.under_replicated == 1 else 'lack'} a copy that is in sync."
            " Start the nodes that are not alive, or wait for the copies."
        )
    return None


def _broken_links(told: ClusterDetails) -> list[str]:
    return [
        f"Node {node.id} cannot reach node {', '.join(map(str, node.cannot_reach))}: check the"
        " network and the certificates between them."
        for node in told.nodes
        if node.cannot_reach
    ]


async def events(admin: Address, limit: int, output: Format) -> None:
    async with ClusterOperator(admin) as operator:
        told = await operator.events(limit)
    rows = [{"time": _time(event.time_ms), **msgspec.to_builtins(event)} for event in told]
    print_rows(rows, output, ("time", "kind", "subject", "text"))


async def drain(admin: Address, node: int, output: Format, *, undo: bool) -> None:
    async with ClusterOperator(admin) as operator:
        told = await operator.drain(node, draining=not undo)
    print_rows([msgspec.to_builtins(told)], output, ("node", "draining"))
    tell(
        f"node {node} takes part again"
        if undo
        else f"node {node} gives up what it leads; `duolog cluster status` shows when it has"
    )


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(" ", "milliseconds")
