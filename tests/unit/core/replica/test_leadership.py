"""What a leader may conclude from what its followers ask for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from duolog.core.replica.companions import Standing, plan_in_sync
from duolog.core.replica.leadership import Leadership
from duolog.model.errors import StaleBrokerEpoch
from duolog.model.partition_state import PartitionState

LAG_MS_MAX = 10_000
STATE = PartitionState(leader=1, leader_epoch=3, replicas=(1, 2, 3), in_sync=(1, 2, 3))


def lead(state: PartitionState = STATE, *, end_offset: int = 0, min_in_sync: int = 1) -> Leadership:
    return Leadership(
        1, state, end_offset=end_offset, min_in_sync=min_in_sync, lag_ms_max=LAG_MS_MAX, now_ms=0
    )


def test_rule_06_the_watermark_is_the_least_of_all_in_sync() -> None:
    leadership = lead()
    leadership.fetched(2, 1, 7, 10, 0)
    leadership.fetched(3, 1, 5, 10, 0)
    assert leadership.high_watermark(10) == 5
    assert leadership.high_watermark(4) == 4


def test_rule_06_who_has_not_been_heard_holds_the_watermark() -> None:
    leadership = lead()
    leadership.fetched(2, 1, 7, 10, 0)
    watermark = leadership.high_watermark(10)
    assert watermark is not None
    assert watermark < 0


def test_rule_06_both_the_old_and_the_proposed_set_count() -> None:
    leadership = lead(replace(STATE, in_sync=(1, 2)))
    leadership.fetched(2, 1, 7, 10, 0)
    leadership.fetched(3, 1, 5, 10, 0)
    assert leadership.high_watermark(10) == 7
    leadership.propose((1, 3))
    assert leadership.high_watermark(10) == 5
    leadership.committed(replace(STATE, in_sync=(1, 2)), 0)
    assert leadership.high_watermark(10) == 7


def test_rule_06_too_few_in_sync_commit_nothing() -> None:
    leadership = lead(replace(STATE, in_sync=(1,)), min_in_sync=2)
    assert leadership.high_watermark(10) is None
    leadership.propose((1, 2))
    assert leadership.high_watermark(10) is None
    leadership.committed(replace(STATE, in_sync=(1, 2)), 0)
    leadership.fetched(2, 1, 10, 10, 0)
    assert leadership.high_watermark(10) == 10


def test_no_more_are_required_than_there_are() -> None:
    state = PartitionState(1, 1, replicas=(1, 2), in_sync=(1,), asynchronous=(2,))
    assert lead(state, min_in_sync=2).high_watermark(3) == 3


def test_a_replica_that_is_brought_in_does_not_raise_what_is_required() -> None:
    state = PartitionState(1, 1, replicas=(1, 2), in_sync=(1,), adding=(2,))
    assert lead(state, min_in_sync=2).high_watermark(3) == 3
    assert lead(replace(state, adding=()), min_in_sync=2).high_watermark(3) is None


def test_rule_04_an_earlier_run_of_a_follower_is_not_believed() -> None:
    leadership = lead()
    leadership.fetched(2, 8, 5, 10, 0)
    with pytest.raises(StaleBrokerEpoch):
        leadership.fetched(2, 7, 9, 10, 0)
    assert leadership.end_offset_of(2) == 5


def test_rule_04_a_node_that_is_not_registered_does_not_enter() -> None:
    leadership = lead(replace(STATE, in_sync=(1,)))
    leadership.fetched(2, 0, 10, 10, 0)
    assert leadership.ready(10, {}) == ()
    leadership.fetched(2, 6, 10, 10, 0)
    assert leadership.ready(10, {}) == (2,)


def test_who_is_no_replica_counts_for_nothing() -> None:
    leadership = lead()
    assert not leadership.fetched(9, 1, 10, 10, 0)
    assert not leadership.knows(9)


def test_a_follower_that_keeps_reaching_what_there_was_is_not_behind() -> None:
    leadership = lead()
    end = 0
    for at_ms in range(0, 100_000, 5_000):
        leadership.fetched(2, 1, end, end + 100, at_ms)
        end += 100
    assert leadership.leaving(end, 100_000, {}) == (3,)


def test_a_follower_that_is_always_an_answer_ahead_of_its_disk_is_not_behind() -> None:
    leadership = lead()
    for number in range(100):
        leadership.fetched(2, 1, max(0, number - 2) * 100, number * 100, number * 1_000)
    assert leadership.leaving(10_000, 100_000, {}) == (3,)


def test_one_that_never_reaches_it_leaves_after_a_while() -> None:
    leadership = lead()
    for at_ms in range(0, 20_001, 1_000):
        leadership.fetched(2, 1, at_ms, 2 * at_ms + 100, at_ms)
    assert 2 in leadership.leaving(50_000, 20_000, {2: 20_000})


def test_one_that_has_everything_stays_as_long_as_it_is_heard() -> None:
    leadership = lead(replace(STATE, in_sync=(1, 2)))
    leadership.fetched(2, 1, 10, 10, 0)
    assert leadership.leaving(10, 60_000, {2: 55_000}) == ()
    assert leadership.leaving(10, 60_000, {2: 49_999}) == (2,)


def test_rule_10_one_that_gives_up_what_it_had_leaves_at_once() -> None:
    leadership = lead(replace(STATE, in_sync=(1, 2)))
    leadership.fetched(2, 1, 10, 10, 0)
    leadership.fetched(2, 1, 4, 10, 1)
    assert leadership.leaving(10, 1, {2: 1}) == (2,)
    leadership.committed(replace(STATE, in_sync=(1,)), 2)
    assert leadership.ready(4, {2: 3}) == ()
    leadership.fetched(2, 1, 10, 10, 3)
    assert leadership.ready(10, {2: 3}) == (2,)


def test_one_enters_with_all_that_is_committed_now_or_was_before_the_election() -> None:
    leadership = lead(replace(STATE, in_sync=(1,)), end_offset=8)
    leadership.fetched(2, 1, 7, 10, 0)
    leadership.fetched(3, 1, 8, 10, 0)
    assert leadership.ready(5, {}) == (3,)
    assert leadership.ready(9, {}) == ()


def test_one_that_is_gone_does_not_enter_again_though_it_had_everything() -> None:
    leadership = lead()
    leadership.fetched(2, 1, 10, 10, 5)
    leadership.fetched(3, 1, 10, 10, 5)
    leadership.committed(replace(STATE, in_sync=(1, 2)), 7)
    assert leadership.ready(10, {2: 5, 3: 5}) == ()
    assert leadership.ready(10, {2: 5, 3: 8}) == (3,)


def test_rule_10_one_that_reports_damage_does_not_count_wherever_it_is() -> None:
    leadership = lead(replace(STATE, in_sync=(1, 2)))
    leadership.fetched(2, 1, 10, 10, 0, is_damaged=True)
    leadership.fetched(3, 1, 10, 10, 0, is_damaged=True)
    assert leadership.leaving(10, 0, {2: 0}) == (2,)
    assert leadership.ready(10, {}) == ()


def test_rule_07_nothing_is_committed_without_those_that_are_eligible() -> None:
    state = replace(STATE, in_sync=(1, 2), eligible=(3,))
    leadership = lead(state, min_in_sync=2)
    leadership.fetched(2, 1, 10, 10, 0)
    assert leadership.high_watermark(10) is None
    leadership.committed(replace(state, eligible=()), 0)
    assert leadership.high_watermark(10) == 10


def test_companions_have_one_set() -> None:
    data, journal = (lead(replace(STATE, in_sync=(1, 2))) for _ in range(2))
    for leadership in (data, journal):
        leadership.fetched(2, 1, 10, 10, 20_000)
    data.fetched(3, 1, 10, 10, 20_000)
    standings = [Standing(data, 10, 10), Standing(journal, 10, 10)]
    heard = {2: 20_000, 3: 20_000}
    assert plan_in_sync(standings, 20_000, heard) == [(1, 2), (1, 2)]
    journal.fetched(3, 1, 10, 10, 20_000)
    assert plan_in_sync(standings, 20_000, heard) == [(1, 2, 3), (1, 2, 3)]
    journal.fetched(2, 1, 4, 10, 20_000)
    assert plan_in_sync(standings, 20_000, heard) == [(1, 3), (1, 3)]


class Commitment(RuleBasedStateMachine):
    """A leader, two followers and a store that answers late or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.minimum = 2
        self.state = STATE
        self.leadership = lead(min_in_sync=self.minimum)
        self.own_end = 0
        self.ends = {2: 0, 3: 0}
        self.watermark = 0
        self.now_ms = 0

    def recount(self) -> None:
        found = self.leadership.high_watermark(self.own_end)
        if found is not None and found > self.watermark:
            # The store may have done what was proposed: both sets must have it, and be enough.
            possible = [self.state.in_sync]
            if self.leadership.proposed is not None:
                possible.append(self.leadership.proposed)
            for members in possible:
                assert all(self.ends.get(node, self.own_end) >= found for node in members)
            assert len(self.state.in_sync) >= self.minimum
            self.watermark = found

    @rule(count=st.integers(1, 5))
    def write(self, count: int) -> None:
        self.own_end += count
        self.recount()

    @rule(node=st.sampled_from([2, 3]), count=st.integers(0, 10))
    def fetch(self, node: int, count: int) -> None:
        self.ends[node] = min(self.own_end, self.ends[node] + count)
        self.leadership.fetched(node, 1, self.ends[node], self.own_end, self.now_ms)
        self.recount()

    @rule(passed_ms=st.integers(0, 15_000))
    def wait(self, passed_ms: int) -> None:
        self.now_ms += passed_ms

    @precondition(lambda self: self.leadership.proposed is None)
    @rule()
    def propose(self) -> None:
        standing = Standing(self.leadership, self.own_end, self.watermark)
        (wanted,) = plan_in_sync([standing], self.now_ms, {})
        assert 1 in wanted
        joining = [node for node in wanted if node not in self.state.in_sync]
        assert all(self.ends[node] >= self.watermark for node in joining)
        if wanted != self.state.in_sync:
            self.leadership.propose(wanted)

    @precondition(lambda self: self.leadership.proposed is not None)
    @rule(happens=st.booleans())
    def settle(self, happens: bool) -> None:
        proposed = self.leadership.proposed
        if happens:
            self.state = replace(self.state, in_sync=proposed)
            self.leadership.committed(self.state, self.now_ms)
        else:
            self.leadership.withdraw()
        self.recount()

    @invariant()
    def every_member_has_what_is_committed(self) -> None:
        for node in self.state.in_sync:
            assert self.ends.get(node, self.own_end) >= self.watermark


TestCommitment = Commitment.TestCase
TestCommitment.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@given(st.lists(st.tuples(st.sampled_from([2, 3]), st.integers(0, 20)), max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_watermark_of_a_fixed_set_never_goes_back(fetches: list[tuple[int, int]]) -> None:
    leadership = lead()
    ends = {2: 0, 3: 0}
    last = -1
    for node, step in fetches:
        ends[node] += step
        leadership.fetched(node, 1, ends[node], 1_000, 0)
        found = leadership.high_watermark(1_000)
        assert found is not None
        assert found >= last
        last = found
