"""Two logs that have parted find the last offset that they share, by their epochs alone."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.core.replica.truncation import NO_EPOCH, Divergence, cut_offset, divergence
from duolog.log.epochs import EpochHistory


@dataclass
class Replica:
    """A log in which each offset is known by the epoch and the leader that wrote it."""

    records: list[tuple[int, int]] = field(default_factory=list)
    history: EpochHistory = field(default_factory=EpochHistory)

    def lead(self, epoch: int, node: int, count: int) -> None:
        self.history.assign(epoch, len(self.records))
        self.records += [(epoch, node)] * count

    @property
    def end_offset(self) -> int:
        return len(self.records)

    def cut(self, offset: int) -> None:
        del self.records[offset:]
        self.history.truncate_end(offset)

    def last_epoch(self) -> int:
        return self.records[-1][0] if self.records else NO_EPOCH

    def copy_from(self, leader: "Replica", count: int) -> None:
        for epoch, node in leader.records[self.end_offset : self.end_offset + count]:
            self.history.assign(epoch, self.end_offset)
            self.records.append((epoch, node))


def shared(one: Replica, other: Replica) -> int:
    """How many records both logs begin with."""
    count = 0
    for left, right in zip(one.records, other.records, strict=False):
        if left != right:
            break
        count += 1
    return count


def agree(follower: Replica, leader: Replica) -> int:
    """Cut the follower until the leader finds nothing wrong with it; how often that was."""
    cuts = 0
    follower.history.truncate_end(follower.end_offset)
    while (
        found := divergence(
            leader.history, leader.end_offset, follower.last_epoch(), follower.end_offset
        )
    ) is not None:
        before = follower.end_offset
        common = shared(follower, leader)
        offset = cut_offset(follower.history, before, found)
        assert common <= offset < before, "each step cuts something, and nothing that is shared"
        follower.cut(offset)
        cuts += 1
    return cuts


reigns = st.lists(
    st.tuples(
        st.integers(0, 2),  # who leads
        st.integers(0, 4),  # how many records it writes
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)),  # how far they copy
        st.tuples(st.booleans(), st.booleans(), st.booleans()),  # who hears of it at all
    ),
    max_size=12,
)


@given(reigns)
@settings(max_examples=300, deadline=None)
def test_diverged_logs_agree_after_cutting_exactly_what_is_not_shared(
    history: list[tuple[int, int, tuple[int, ...], tuple[bool, ...]]],
) -> None:
    replicas = [Replica(), Replica(), Replica()]
    epoch = 0
    for epoch, (node, count, copied, hears) in enumerate(history, 1):
        leader = replicas[node]
        leader.lead(epoch, node, count)
        for other, (follower, far) in enumerate(zip(replicas, copied, strict=True)):
            if other != node and hears[other]:
                agree(follower, leader)
                follower.copy_from(leader, far)
    leader = replicas[0]
    leader.lead(epoch + 1, 0, 1)
    for follower in replicas[1:]:
        common = shared(follower, leader)
        agree(follower, leader)
        assert follower.end_offset == common
        follower.copy_from(leader, leader.end_offset)
        assert follower.records == leader.records
        assert follower.history.entries == [
            entry for entry in leader.history.entries if entry[1] < leader.end_offset
        ]


def test_a_follower_that_is_only_behind_is_not_cut() -> None:
    leader, follower = Replica(), Replica()
    leader.lead(1, 0, 5)
    follower.copy_from(leader, 3)
    assert divergence(leader.history, 5, follower.last_epoch(), 3) is None


def test_an_empty_follower_is_not_cut() -> None:
    leader = Replica()
    leader.lead(4, 0, 2)
    assert divergence(leader.history, 2, NO_EPOCH, 0) is None


def test_a_follower_whose_epochs_are_all_newer_gives_up_everything() -> None:
    follower = Replica()
    follower.lead(5, 1, 3)
    assert cut_offset(follower.history, 3, Divergence(2, 10)) == 0
