"""The nodes' own usage counts, read from `GET /usage` of each."""

import asyncio

import msgspec

from duolog.client.cluster_operator import ClusterOperator
from duolog.client.errors import ClientError, Refused
from duolog.client.operator import AdminClient
from duolog.config.address import Address, parse_address
from duolog_pipelines.billing.reconciliation import NodeTotals

_ABSENT = "HTTP 404"


class Asked(msgspec.Struct, frozen=True):
    told: list[NodeTotals]
    silent: list[str]
    """Nodes that did not answer or do not meter, with the reason."""


def ask_nodes(admin: str) -> Asked:
    """Ask every node known to the node at this address."""
    return asyncio.run(_ask_all(parse_address(admin)))


async def _ask_all(admin: Address) -> Asked:
    told, silent = [], []
    try:
        addresses = await _addresses(admin)
    except ClientError as error:
        return Asked([], [f"{admin}: {error}"])
    for address in addresses:
        try:
            async with AdminClient(address) as client:
                told.append(await client.ask("GET", "/usage", NodeTotals, "its usage"))
        except Refused as refusal:
            reason = "it counts no usage" if refusal.name == _ABSENT else str(refusal)
            silent.append(f"{address}: {reason}")
        except ClientError as error:
            silent.append(f"{address}: {error}")
    return Asked(told, silent)


async def _addresses(admin: Address) -> list[Address]:
    """Admin addresses of all live nodes; a lone node knows of no others."""
    async with ClusterOperator(admin) as operator:
        try:
            nodes = (await operator.described()).nodes
        except Refused:
            return [admin]
    others = {parse_address(node.admin) for node in nodes if node.alive and node.admin}
    return sorted(others) or [admin]
