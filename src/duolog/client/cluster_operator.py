"""Client of the admin API's cluster routes: description, events, draining."""

import msgspec

from duolog.client.operator import AdminClient

NODE_ALONE = "NodeAlone"
"""The name under which a node refuses to tell of a cluster that it is not in."""


class NodeSummary(msgspec.Struct):
    id: int
    alive: bool
    controller: bool
    draining: bool
    rack: str
    host: str
    roles: list[str]
    kafka: str
    sqs: str
    admin: str
    peer: str
    leads: int
    """Number of partitions that the node leads."""
    copies: int
    """Number of partitions of which the node holds a copy."""
    cannot_reach: list[int] = msgspec.field(default_factory=list)
    """Nodes that it has tried and not reached."""


class PartitionSummary(msgspec.Struct):
    total: int
    leaderless: int
    under_replicated: int


class ClusterDetails(msgspec.Struct):
    cluster_id: str
    in_touch: bool
    """True if the answering node reaches the metadata store; otherwise the rest may be stale."""
    controller: int | None
    controller_epoch: int
    nodes: list[NodeSummary]
    partitions: PartitionSummary


class ClusterEvent(msgspec.Struct):
    time_ms: int
    kind: str
    subject: str
    text: str


class _Events(msgspec.Struct):
    events: list[ClusterEvent]


class _Readiness(msgspec.Struct):
    reasons: dict[str, str]


class Drained(msgspec.Struct):
    node: int
    draining: bool


class ClusterOperator(AdminClient):
    async def described(self) -> ClusterDetails:
        told: ClusterDetails = await self.ask("GET", "/cluster", ClusterDetails, "the cluster")
        return told

    async def reasons_not_ready(self) -> dict[str, str]:
        """Why the node that is asked does not serve; empty when it does."""
        answer = await self.request("GET", "/readyz")
        told: _Readiness = self.decode(answer, _Readiness)
        return told.reasons

    async def events(self, limit: int) -> list[ClusterEvent]:
        """The cluster's latest events, newest first."""
        told: _Events = await self.ask(
            "GET", f"/cluster/events?limit={limit}", _Events, "the events"
        )
        return told.events

    async def drain(self, node: int, *, draining: bool) -> Drained:
        body = msgspec.json.encode({"draining": draining})
        told: Drained = await self.ask(
            "POST", f"/cluster/nodes/{node}/drain", Drained, f"node {node}", body
        )
        return told
