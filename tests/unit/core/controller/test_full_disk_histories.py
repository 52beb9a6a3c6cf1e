"""Random histories of a small cluster whose disks fill and are emptied, too."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from tests.unit.core.controller.test_election_histories import (
    DATA,
    JOURNAL,
    NODES,
    PARTITIONS,
    ElectionHistories,
    nodes,
)

from duolog.core.controller.full_disks import full_disk_moves
from duolog.core.controller.image import ClusterImage
from duolog.core.replica.room import admissible_with_room, takes_messages
from duolog.model.statement import Statement


class FullDiskHistories(ElectionHistories):
    @initialize()
    def have_room(self) -> None:
        self.full: set[int] = set()

    def _image(self) -> ClusterImage:
        statements = {
            node: Statement(node, live.epoch, full=node in self.full)
            for node, live in self.live.items()
        }
        return ClusterImage(
            self.live,
            self.records,
            self.topics,
            self.entries,
            {JOURNAL: DATA},
            statements=statements,
        )

    @rule(node=nodes)
    def disk_fills(self, node: int) -> None:
        self.full.add(node)

    @rule(node=nodes)
    def disk_has_room(self, node: int) -> None:
        self.full.discard(node)

    @rule()
    def disk_of_the_leader_fills(self) -> None:
        leader = self._leader(PARTITIONS[0])
        if leader is not None:
            self.full = {leader}
            self.controller_looks_at_disks()

    @rule()
    def controller_looks_at_disks(self) -> None:
        """It settles first, as always."""
        self.controller_looks()
        for decision in full_disk_moves(self._image(), 0):
            for change in decision.changes:
                old = self.entries[change.partition].state
                self._check(change.partition, change.state)
                assert len(change.state.in_sync) >= min(self.min_in_sync, len(NODES))
                assert not self.full & {change.state.leader, *change.state.in_sync}
                assert change.state.leader == old.leader or old.leader in self.full
                self._write(change.partition, change.state)
        assert full_disk_moves(self._image(), 0) == [], "one look moves everything"

    @rule(slow=st.none() | nodes)
    def records_are_produced(self, slow: int | None) -> None:
        for partition in PARTITIONS:
            leader = self._leader(partition)
            if leader is None or leader in self.full:
                return
            in_sync = self.entries[partition].state.in_sync
            if not takes_messages(in_sync, self.full, self.min_in_sync):
                return
            self.logs[partition, leader] = end = self.logs[partition, leader] + 1
            for node in in_sync:
                if node in self.live and node != slow and node not in self.full:
                    self.logs[partition, node] = end
            is_everywhere = all(self.logs[partition, node] == end for node in in_sync)
            if is_everywhere and len(in_sync) >= self.min_in_sync:
                self.acknowledged[partition] = end

    @rule(node=nodes)
    def follower_catches_up(self, node: int) -> None:
        for partition in PARTITIONS:
            leader = self._leader(partition)
            if leader is None:
                return
            in_sync = self.entries[partition].state.in_sync
            lacks = self.logs[partition, node] < self.logs[partition, leader]
            may_enter = admissible_with_room((node,), in_sync, self.full, self.min_in_sync)
            if node in self.full and (lacks or not may_enter):
                return
        super().follower_catches_up(node)


FullDiskHistories.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None
)
TestFullDiskHistories = FullDiskHistories.TestCase
