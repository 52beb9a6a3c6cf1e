"""Random histories of a small cluster, with an oracle that knows what was acknowledged.

The model is the part of the cluster that elections rely on: leaders append, wait for everybody
in sync, and let followers in once they have caught up.
"""

import uuid

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.changes import Decision
from duolog.core.controller.image import ClusterImage, PartitionId, TopicImage
from duolog.core.controller.isolation import Isolation
from duolog.core.controller.settlement import admissions, settlement
from duolog.model.cluster import LiveNode, NodeRecord
from duolog.model.partition_state import NO_LEADER, PartitionEntry, PartitionState
from duolog.model.statement import Statement

NODES = (1, 2, 3)
DATA, JOURNAL = uuid.UUID(int=1), uuid.UUID(int=2)
PARTITIONS = (PartitionId(DATA, 0), PartitionId(JOURNAL, 0))
nodes = st.sampled_from(NODES)


class ElectionHistories(RuleBasedStateMachine):
    @initialize(min_in_sync=st.integers(1, 3), is_fsync=st.booleans())
    def begin(self, min_in_sync: int, is_fsync: bool) -> None:
        self.revision = 10
        self.live: dict[int, LiveNode] = {node: live_node(node, 1) for node in NODES}
        self.directories = {node: f"directory of {node}" for node in NODES}
        self.records = {node: NodeRecord(node, self.directories[node], epoch=1) for node in NODES}
        self.statements: dict[int, Statement] = {}
        self.topics = {
            topic: TopicImage(topic, name, 1, min_in_sync, is_fsync)
            for topic, name in ((DATA, "orders"), (JOURNAL, "__queue.orders"))
        }
        first = PartitionState(1, 0, (1, 2, 3), (1, 2, 3), broker_epoch=1)
        self.entries = {partition: PartitionEntry(first, 1) for partition in PARTITIONS}
        self.logs = dict.fromkeys(((p, n) for p in PARTITIONS for n in NODES), 0)
        self.acknowledged = dict.fromkeys(PARTITIONS, 0)
        self.may_lose = False
        self.is_fsync = is_fsync
        self.min_in_sync = min_in_sync

    @rule()
    def controller_looks(self) -> None:
        image = self._image()
        self._perform(settlement(image, 0))
        for record in admissions(image):
            self.records[record.node] = record
        assert settlement(self._image(), 0) == [], "one look settles everything"
        self._perform(Isolation().decisions(self._image(), 0))
        assert settlement(self._image(), 0) == [], "a move leaves nothing to be settled"
        leaders = {self.entries[partition].state.leader for partition in PARTITIONS}
        assert len(leaders) == 1

    def _image(self) -> ClusterImage:
        return ClusterImage(
            self.live,
            self.records,
            self.topics,
            self.entries,
            {JOURNAL: DATA},
            statements=self.statements,
        )

    def _perform(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            for node in decision.elected:
                assert self.live[node.id].epoch == node.epoch
            for change in decision.changes:
                assert change.mod_revision == self.entries[change.partition].mod_revision
                self._check(change.partition, change.state)
                self._write(change.partition, change.state)

    def _check(self, partition: PartitionId, new: PartitionState) -> None:
        old = self.entries[partition].state
        assert new.leader_epoch >= old.leader_epoch
        assert new.leader_epoch > old.leader_epoch or new.leader == old.leader
        assert set(new.in_sync) <= set(old.in_sync) | set(old.eligible)
        assert not set(new.in_sync) & set(new.eligible)
        if not new.in_sync:
            assert all(self._is_emptied(node) for node in old.in_sync)
        if new.leader != NO_LEADER:
            assert new.leader in self.live
            assert new.broker_epoch == self.live[new.leader].epoch
            assert new.leader in old.in_sync or new.leader in old.eligible
            assert new.leader in new.in_sync
            if not self.may_lose:
                assert self.logs[partition, new.leader] >= self.acknowledged[partition]
            self.acknowledged[partition] = min(
                self.acknowledged[partition], self.logs[partition, new.leader]
            )

    def _is_emptied(self, node: int) -> bool:
        live = self.live.get(node)
        return live is not None and live.registration.directory != self.records[node].directory

    def _write(self, partition: PartitionId, state: PartitionState) -> None:
        self.revision += 1
        self.entries[partition] = PartitionEntry(state, self.revision)

    def _leader(self, partition: PartitionId) -> int | None:
        """Whoever serves it: elected under the epoch that it lives under."""
        state = self.entries[partition].state
        live = self.live.get(state.leader)
        return state.leader if live and live.epoch == state.broker_epoch else None

    @rule(slow=st.none() | nodes)
    def records_are_produced(self, slow: int | None) -> None:
        for partition in PARTITIONS:
            leader = self._leader(partition)
            if leader is None:
                return
            in_sync = self.entries[partition].state.in_sync
            self.logs[partition, leader] = end = self.logs[partition, leader] + 1
            for node in in_sync:
                if node in self.live and node != slow:
                    self.logs[partition, node] = end
            is_everywhere = all(self.logs[partition, node] == end for node in in_sync)
            if is_everywhere and len(in_sync) >= self.min_in_sync:
                self.acknowledged[partition] = end

    @rule(node=nodes)
    def follower_catches_up(self, node: int) -> None:
        for partition in PARTITIONS:
            leader = self._leader(partition)
            state = self.entries[partition].state
            if leader is None or node not in state.replicas or node not in self.live:
                return
            self.logs[partition, node] = self.logs[partition, leader]
            if node not in state.in_sync:
                in_sync = (*state.in_sync, node)
                eligible = tuple(each for each in state.eligible if each != node)
                if len(in_sync) >= self.min_in_sync:
                    eligible = ()
                self._write(
                    partition, msgspec.structs.replace(state, in_sync=in_sync, eligible=eligible)
                )

    @rule(node=nodes)
    def follower_lags(self, node: int) -> None:
        for partition in PARTITIONS:
            state = self.entries[partition].state
            if self._leader(partition) in (None, node) or node not in state.in_sync:
                return
            in_sync = tuple(each for each in state.in_sync if each != node)
            eligible = (*state.eligible, node) if len(in_sync) < self.min_in_sync else ()
            self._write(
                partition, msgspec.structs.replace(state, in_sync=in_sync, eligible=eligible)
            )

    @rule(node=nodes, unreachable=st.sets(nodes), readers=st.sets(nodes))
    def node_speaks(self, node: int, unreachable: set[int], readers: set[int]) -> None:
        if node in self.live:
            others = tuple(sorted(unreachable - {node}))
            self.statements[node] = Statement(
                node, self.live[node].epoch, others, tuple(sorted(readers))
            )

    @rule(node=nodes)
    def node_is_lost(self, node: int) -> None:
        self.live.pop(node, None)

    @rule(node=nodes, is_clean=st.booleans(), is_emptied=st.booleans())
    def node_starts(self, node: int, is_clean: bool, is_emptied: bool) -> None:
        """Also one that nobody had noticed to be away."""
        self.revision += 1
        if is_emptied:
            self.directories[node] = f"directory {self.revision} of {node}"
        if is_emptied or not (is_clean or self.is_fsync):
            for partition in PARTITIONS:
                self.logs[partition, node] = 0
            # Where memory is all that was promised, losing all of it at once is a loss.
            self.may_lose = self.may_lose or not self.is_fsync
        self.live[node] = live_node(
            node, self.revision, directory=self.directories[node], stopped_cleanly=is_clean
        )

    @invariant()
    def nobody_serves_without_what_was_acknowledged(self) -> None:
        for partition in PARTITIONS if not self.may_lose else ():
            leader = self._leader(partition)
            if leader is not None:
                assert self.logs[partition, leader] >= self.acknowledged[partition]


ElectionHistories.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None
)
TestElectionHistories = ElectionHistories.TestCase
