"""Trust in what each node held before it registered anew, and what live nodes say. Pure."""

from collections.abc import Mapping
from enum import Enum, auto

from duolog.core.controller.image import ClusterImage, Member
from duolog.core.membership.statements import Statements
from duolog.model.cluster import LiveNode
from duolog.model.log_end import LogEnd
from duolog.model.names import OFFSETS_TOPIC


class Standing(Enum):
    STEADY = auto()
    """Alive without a break since the controller last judged it."""
    RETURNED = auto()
    """Registered anew, with the data directory that it had."""
    EMPTIED = auto()
    """Registered anew, with another data directory: nothing that it held is there."""
    GONE = auto()


class Census:
    def __init__(self, image: ClusterImage) -> None:
        self.live = image.live
        self._log_ends = image.log_ends
        self.statements = Statements(image.live, image.statements)
        self._standings: dict[int, Standing] = {}
        for node, live in image.live.items():
            record = image.records.get(node)
            if record is None or record.directory == live.registration.directory:
                is_steady = record is not None and record.epoch == live.epoch
                self._standings[node] = Standing.STEADY if is_steady else Standing.RETURNED
            else:
                self._standings[node] = Standing.EMPTIED

    @property
    def unjudged(self) -> list[LiveNode]:
        """Nodes whose present registration the controller has not yet recorded, by node id."""
        return [
            self.live[node]
            for node in sorted(self.live)
            if self._standings[node] is not Standing.STEADY
        ]

    def standing(self, member: Member, node: int) -> Standing:
        """Standing of a node for one partition.

        A leader that was elected under its present epoch is steady: its log began, or was verified,
        after it registered.
        """
        live = self.live.get(node)
        if live is None:
            return Standing.GONE
        state = member.state
        if state.leader == node and state.broker_epoch == live.epoch:
            return Standing.STEADY
        return self._standings[node]

    def may_have_lost(self, member: Member, node: int) -> bool:
        """True if records that the node had reported may be missing from its disk."""
        standing = self.standing(member, node)
        if standing is Standing.RETURNED:
            was_clean = self.live[node].registration.stopped_cleanly
            return not member.topic.is_fsync and not was_clean
        return standing is Standing.EMPTIED

    def is_steady(self, member: Member, node: int) -> bool:
        return self.standing(member, node) is Standing.STEADY

    def is_always_steady(self, node: int) -> bool:
        """True if the node is steady for every partition."""
        return self._standings.get(node) is Standing.STEADY

    def log_ends(self, member: Member) -> Mapping[int, LogEnd]:
        """Where the partition's logs end, by node, as far as that was asked."""
        return self._log_ends.get(member.id, {})

    def is_draining(self, node: int) -> bool:
        return node in self.live and self.live[node].draining

    def is_full(self, node: int) -> bool:
        """True if the node says that its log directory has no room for new records."""
        return self.statements.is_full(node)

    def is_rebalancing(self, member: Member) -> bool:
        """True if the leader says that groups of this partition of the offsets topic rebalance."""
        is_of_groups = member.topic.name == OFFSETS_TOPIC
        return is_of_groups and self.statements.is_rebalancing(member.state.leader, member.id.index)

    def is_doubted(self, node: int) -> bool:
        """True if others that are themselves reached cannot reach the node."""
        return bool(self.statements.doubters(node))

    def reluctance(self, node: int) -> tuple[bool, ...]:
        """Sort key of nodes that could all lead without loss: what speaks against one, the worst
        first. Stable, so that the order of preference decides between equals."""
        return self.is_doubted(node), self.is_full(node), self.is_draining(node)
