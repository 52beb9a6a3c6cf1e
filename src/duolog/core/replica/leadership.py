"""What a partition's leader knows of its followers, and what follows from it. Pure.

Driven by broker/leading.py and broker/replication: they report fetches and the time, and ask
how far records are committed and who should enter or leave the in-sync set. The set itself
changes only when the metadata store says so (`committed`); what was proposed and is not known
to have failed counts as if it had happened, wherever that is the more careful assumption.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from duolog.model.errors import StaleBrokerEpoch
from duolog.model.partition_state import PartitionState

UNKNOWN = -1
NOT_REGISTERED = 0
"""The broker epoch of a node that copies, but is not alive yet for the others."""


@dataclass(slots=True)
class Follower:
    end_offset: int = UNKNOWN
    """Everything below it is on this replica, as durably as the topic asks."""
    broker_epoch: int = UNKNOWN
    """That it fetched with: another start of the node is another replica."""
    caught_up_ms: int = 0
    """When it last had everything that the leader had."""
    leader_end_offset: int = 0
    """Where the leader's log ended when it asked last having all that there was before, and when
    that was: while it copies ahead of its disk, it does not reach it with the next fetch."""
    asked_ms: int = 0
    has_fallen_back: bool = False
    """Whether it gave up records that it had reported, or has to because they are damaged."""
    left_ms: int = UNKNOWN
    """When it was last seen to have left the in-sync set."""


class Leadership:
    """Of one partition, in one leader epoch."""

    __slots__ = (
        "_followers",
        "_lag_ms_max",
        "_node",
        "_wanted_in_sync",
        "epoch",
        "in_sync",
        "maximal",
        "min_in_sync",
        "proposed",
        "start_offset",
        "state",
    )

    def __init__(
        self,
        node: int,
        state: PartitionState,
        *,
        end_offset: int,
        min_in_sync: int,
        lag_ms_max: int,
        now_ms: int,
    ) -> None:
        self._node = node
        self._lag_ms_max = lag_ms_max
        self._followers: dict[int, Follower] = {}
        self._wanted_in_sync = min_in_sync
        self.min_in_sync = min_in_sync
        self.epoch = state.leader_epoch
        self.start_offset = end_offset
        """Where the log ended at the election: what the leaders before it may have committed."""
        self.in_sync: tuple[int, ...] = ()
        self.proposed: tuple[int, ...] | None = None
        self.maximal: tuple[int, ...] = ()
        """The followers in the in-sync set, or in the one that was proposed."""
        self.state = state
        self.committed(state, now_ms)

    def committed(self, state: PartitionState, now_ms: int) -> None:
        """The store shows this state, which settles whatever was proposed."""
        for node in state.replicas:
            if node != self._node and node not in self._followers:
                self._followers[node] = Follower(caught_up_ms=now_ms, asked_ms=now_ms)
        for node in tuple(self._followers):
            if node not in state.replicas:
                del self._followers[node]
        for node in state.in_sync:
            if node not in self.in_sync and node in self._followers:
                # Who has just been let in has a whole interval to show itself.
                self._followers[node].caught_up_ms = now_ms
        for node in self.in_sync:
            if node not in state.in_sync and node in self._followers:
                self._followers[node].left_ms = now_ms
        self.state = state
        self.in_sync = state.in_sync
        self.require(self._wanted_in_sync)
        self.proposed = None
        self._settle_maximal()

    def require(self, min_in_sync: int) -> None:
        """Follow `min.insync.replicas`; more than there are replicas cannot be asked.

        Those that are only being brought in do not count: writes go on meanwhile.
        """
        self._wanted_in_sync = min_in_sync
        self.min_in_sync = min(min_in_sync, self.state.dependable_count)

    def propose(self, in_sync: tuple[int, ...]) -> None:
        """From now on it may have happened, until `committed` or `withdraw`."""
        assert self.proposed is None
        self.proposed = in_sync
        self._settle_maximal()

    def withdraw(self) -> None:
        """The proposal is known to have failed."""
        self.proposed = None
        self._settle_maximal()

    def _settle_maximal(self) -> None:
        union = dict.fromkeys((*self.in_sync, *(self.proposed or ())))
        self.maximal = tuple(node for node in union if node in self._followers)

    def fetched(
        self,
        node: int,
        broker_epoch: int,
        offset: int,
        leader_end_offset: int,
        now_ms: int,
        *,
        is_damaged: bool = False,
    ) -> bool:
        """A follower asks from `offset` on, so it has what is before; False if it is none.

        What is damaged at the offset is cut, and copied again, once the follower does not count.
        StaleBrokerEpoch for what an earlier run of it has asked.
        """
        follower = self._followers.get(node)
        if follower is None:
            return False
        if broker_epoch < follower.broker_epoch:
            raise StaleBrokerEpoch(
                f"node {node} has broker epoch {follower.broker_epoch}, this is {broker_epoch}"
            )
        if broker_epoch > follower.broker_epoch:
            follower.broker_epoch = broker_epoch
            follower.has_fallen_back = False
        else:
            follower.has_fallen_back |= offset < follower.end_offset
        if offset >= leader_end_offset:
            follower.caught_up_ms = now_ms
            follower.has_fallen_back = False
        if offset >= follower.leader_end_offset:
            # It has reached what there was when it asked for that.
            follower.caught_up_ms = max(follower.caught_up_ms, follower.asked_ms)
            follower.leader_end_offset = leader_end_offset
            follower.asked_ms = now_ms
        follower.has_fallen_back |= is_damaged
        follower.end_offset = offset
        return True

    def high_watermark(self, own_end_offset: int) -> int | None:
        """How far all of the maximal in-sync set are; None while too few are in sync.

        Nor while others are eligible: nothing may be acknowledged that those do not have.
        """
        if len(self.in_sync) < self.min_in_sync or self.state.eligible:
            return None
        lowest = own_end_offset
        for node in self.maximal:
            end_offset = self._followers[node].end_offset
            if end_offset < lowest:
                lowest = end_offset
        return lowest

    def leaving(self, end_offset: int, now_ms: int, heard_ms: Mapping[int, int]) -> tuple[int, ...]:
        """Members that have fallen behind for too long, or gave up what they had.

        `heard_ms` says when each node last asked for anything at all: one that has everything
        need not name the partition to be heard of.
        """
        return tuple(
            node
            for node in self.in_sync
            if node in self._followers and self._is_behind(node, end_offset, now_ms, heard_ms)
        )

    def _is_behind(
        self, node: int, end_offset: int, now_ms: int, heard_ms: Mapping[int, int]
    ) -> bool:
        follower = self._followers[node]
        if follower.has_fallen_back:
            return True
        caught_up_ms = follower.caught_up_ms
        if follower.end_offset >= end_offset:
            caught_up_ms = max(caught_up_ms, heard_ms.get(node, caught_up_ms))
        return now_ms - caught_up_ms > self._lag_ms_max

    def ready(self, high_watermark: int, heard_ms: Mapping[int, int]) -> tuple[int, ...]:
        """Replicas that may enter: they have all that is committed, now or by leaders before,
        and have asked for something since they left. One that is gone for good had everything,
        too, and nothing could be committed while it is proposed.
        """
        least = max(high_watermark, self.start_offset)
        return tuple(
            node
            for node, follower in self._followers.items()
            if follower.end_offset >= least
            and follower.broker_epoch > NOT_REGISTERED
            and not follower.has_fallen_back
            and heard_ms.get(node, UNKNOWN) >= follower.left_ms
            and node not in self.in_sync
            and node not in self.state.asynchronous
        )

    def knows(self, node: int) -> bool:
        """Whether the node is one of the followers."""
        return node in self._followers

    def has_fallen_back(self, node: int) -> bool:
        """Whether it gave up records that it had reported, or has to."""
        return self._followers[node].has_fallen_back

    def broker_epoch(self, node: int) -> int:
        """That the node's fetches were sent with."""
        return self._followers[node].broker_epoch

    def end_offset_of(self, node: int) -> int:
        """As it reported last; UNKNOWN before that."""
        return self._followers[node].end_offset
