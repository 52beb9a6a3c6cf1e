from typing import Any

from duolog.core.replica.resignation import Copy, Unfitness, resigned, unfitness
from duolog.model.partition_state import NO_EPOCH, NO_LEADER, PartitionState


def copy(node: int = 1, **changes: Any) -> Copy:
    return Copy(node, 4, NO_EPOCH, False, False)._replace(**changes)


def state(in_sync: tuple[int, ...] = (1, 2), **changes: Any) -> PartitionState:
    values = {"leader": 1, "leader_epoch": 5, "replicas": (1, 2, 3), "broker_epoch": 9}
    return PartitionState(in_sync=in_sync, **{**values, **changes})


def test_a_whole_copy_leads() -> None:
    assert unfitness(copy(), state()) is None


def test_a_copy_that_lacks_records_does_not_lead_even_as_the_last() -> None:
    for in_sync in ((1, 2), (1,)):
        assert unfitness(copy(is_incomplete=True), state(in_sync)) is Unfitness.INCOMPLETE


def test_a_copy_that_lacks_records_leads_if_the_election_was_unclean() -> None:
    """Else every unclean election of it would be followed by another."""
    assert unfitness(copy(is_incomplete=True), state((1,), unclean_epoch=5)) is None
    later = state((1,), unclean_epoch=4)
    assert unfitness(copy(is_incomplete=True), later) is Unfitness.INCOMPLETE


def test_damage_matters_only_where_others_have_the_records() -> None:
    damaged = copy(is_damaged=True)
    assert unfitness(damaged, state((1, 2))) is Unfitness.DAMAGED
    assert unfitness(damaged, state((1,), eligible=(2,))) is Unfitness.DAMAGED
    assert unfitness(damaged, state((1,))) is None


def test_nobody_leads_in_an_epoch_that_its_log_has_reached() -> None:
    for last_epoch in (5, 6):
        outrun = copy(last_epoch=last_epoch)
        for of_it in (state(), state((1,), replicas=(1,)), state((1,), unclean_epoch=5)):
            assert unfitness(outrun, of_it) is Unfitness.OUTRUN


def test_the_run_that_began_an_epoch_may_go_on_in_it() -> None:
    assert unfitness(copy(last_epoch=5, led_epoch=5), state()) is None


def test_who_lacks_records_resigns_to_nobody_and_leaves_the_set_with_that() -> None:
    old = state((1, 2), eligible=(3,), incomplete=(3,))
    new = resigned(copy(is_incomplete=True), old, Unfitness.INCOMPLETE)
    assert (new.leader, new.leader_epoch, new.broker_epoch) == (NO_LEADER, 6, 0)
    assert (new.in_sync, new.eligible, new.incomplete) == ((2,), (3,), (3, 1))


def test_an_eligible_copy_that_lacks_records_is_not_eligible_any_more() -> None:
    """It may have been elected as one, and then been taken out of the set by the controller."""
    new = resigned(copy(), state((), eligible=(1, 2)), Unfitness.INCOMPLETE)
    assert (new.in_sync, new.eligible, new.incomplete) == ((), (2,), (1,))


def test_the_last_of_a_set_leaves_it_empty_and_is_named() -> None:
    new = resigned(copy(), state((1,)), Unfitness.INCOMPLETE)
    assert (new.leader, new.in_sync, new.eligible, new.incomplete) == (NO_LEADER, (), (), (1,))


def test_where_the_store_went_back_no_member_is_trusted() -> None:
    """What the store says of the others is as old as what it says of this one."""
    outrun = copy(last_epoch=8)
    new = resigned(outrun, state((1, 2), eligible=(3,)), Unfitness.OUTRUN)
    assert (new.leader, new.in_sync, new.eligible, new.incomplete) == (NO_LEADER, (), (), (1, 2, 3))
    assert new.leader_epoch == 9, "so that the next leader's epoch is new to this log"


def test_where_the_store_went_back_the_only_replica_is_elected_in_a_new_epoch() -> None:
    sole = state((1,), replicas=(1,))
    new = resigned(copy(last_epoch=8), sole, Unfitness.OUTRUN)
    assert (new.leader, new.leader_epoch, new.in_sync, new.incomplete) == (NO_LEADER, 9, (1,), ())
