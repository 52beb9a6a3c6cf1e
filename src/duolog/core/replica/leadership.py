"""Leadership of a partition: the leader's view of its followers, and its decisions. Pure.

Driven by broker/leading.py and broker/replication: they report fetches and the time, and ask how
far records are committed and who should enter or leave the in-sync set. The set itself changes only
when the metadata store says so (`committed`). A proposal that is not known to have failed counts as
done wherever that is the safer assumption.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from duolog.model.errors import StaleBrokerEpoch
from duolog.model.partition_state import PartitionState

UNKNOWN = -1
NOT_REGISTERED = 0
"""Broker epoch of a node that copies, but is not registered yet."""


@dataclass(slots=True)
class Follower:
    end_offset: int = UNKNOWN
    """Offset below which this replica has every record, as durably as the topic asks."""
    broker_epoch: int = UNKNOWN
    """Epoch of its last fetch: another start of the node is another replica."""
    caught_up_ms: int = 0
    """Last time at which it had everything that the leader had."""
    leader_end_offset: int = 0
    """Leader's log end, and time (asked_ms), of the last fetch that had reached the log end noted
    before. A follower that fetches ahead of its disk reaches it some fetches later."""
    asked_ms: int = 0
    has_fallen_back: bool = False
    """True if it gave up records that it had reported, or has to because they are damaged."""
    left_ms: int = UNKNOWN
    """Time at which it was last seen to have left the in-sync set."""


class Leadership:
    """Leadership of one partition in one leader epoch."""

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
        """Log end at the election: the leaders before may have committed up to here."""
        self.in_sync: tuple[int, ...] = ()
        self.proposed: tuple[int, ...] | None = None
        self.maximal: tuple[int, ...] = ()
        """Followers in the in-sync set or in the proposed one."""
        self.state = state
        self.committed(state, now_ms)

    def committed(self, state: PartitionState, now_ms: int) -> None:
        """Adopts the state that the store shows, which settles any proposal."""
        for node in state.replicas:
            if node != self._node and node not in self._followers:
                self._followers[node] = Follower(caught_up_ms=now_ms, asked_ms=now_ms)
        for node in tuple(self._followers):
            if node not in state.replicas:
                del self._followers[node]
        for node in state.in_sync:
            if node not in self.in_sync and node in self._followers:
                # A member that has just been admitted has a whole interval to fetch.
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
        """Follows `min.insync.replicas`, capped at the number of replicas.

        Replicas that are still being added do not count: writes go on meanwhile.
        """
        self._wanted_in_sync = min_in_sync
        self.min_in_sync = min(min_in_sync, self.state.dependable_count)

    def propose(self, in_sync: tuple[int, ...]) -> None:
        """Proposes a set: it may have taken effect at any time until `committed` or `withdraw`."""
        assert self.proposed is None
        self.proposed = in_sync
        self._settle_maximal()

    def withdraw(self) -> None:
        """Drops a proposal that is known to have failed."""
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
        """Notes a follower's fetch from `offset`: it has everything before. False if it is no
        follower.

        Damage at the offset is cut and copied again, once the follower no longer counts as in sync.

        Raises StaleBrokerEpoch for a request of the node's earlier run.
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
            # It has everything that the leader had at that fetch.
            follower.caught_up_ms = max(follower.caught_up_ms, follower.asked_ms)
            follower.leader_end_offset = leader_end_offset
            follower.asked_ms = now_ms
        follower.has_fallen_back |= is_damaged
        follower.end_offset = offset
        return True

    def high_watermark(self, own_end_offset: int) -> int | None:
        """Lowest end offset of the maximal in-sync set; None while too few are in sync.

        None also while replicas are eligible: nothing may be acknowledged that they lack.
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
        """Members that have been behind for too long, or gave up records that they had reported.

        `heard_ms` is when each node last sent any fetch: a follower that has everything need not
        name the partition to count as alive.
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
        """Replicas that may enter the in-sync set.

        They have everything that is committed, by this leader or earlier ones, and have fetched
        since they left. One that is gone for good may have everything, too, but nothing could be
        committed while it is proposed.
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
        """True if the node is one of the followers."""
        return node in self._followers

    def has_fallen_back(self, node: int) -> bool:
        """True if the follower gave up records that it had reported, or has to."""
        return self._followers[node].has_fallen_back

    def broker_epoch(self, node: int) -> int:
        """Broker epoch with which the node fetches."""
        return self._followers[node].broker_epoch

    def end_offset_of(self, node: int) -> int:
        """End offset that the node last reported; UNKNOWN before that."""
        return self._followers[node].end_offset
