from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.cluster_image import image_of, state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.reassignment import (
    begun,
    cancelled,
    has_enough,
    reassignment_steps,
    target_of,
)
from duolog.model.partition_state import PartitionState

FIVE = tuple(live_node(node) for node in range(1, 6))


def only_state(image) -> PartitionState:
    (decision,) = reassignment_steps(image, 0)
    (change,) = decision.changes
    return change.state


def test_replicas_are_added_before_any_is_removed() -> None:
    moving = begun(state(1, (1, 2, 3)), (4, 5, 3))
    assert moving.replicas == (4, 5, 3, 1, 2)
    assert (moving.adding, moving.removing) == ((4, 5), (1, 2))
    assert (moving.leader, moving.leader_epoch, moving.in_sync) == (1, 5, (1, 2, 3))
    assert target_of(moving) == (4, 5, 3)


def test_a_reassignment_waits_for_all_that_it_brings_in() -> None:
    moving = begun(state(1, (1, 2, 3, 4)), (4, 5, 3))
    assert reassignment_steps(image_of(moving, live=FIVE), 0) == []


def test_a_finished_reassignment_has_a_leader_of_the_new_replicas() -> None:
    moving = begun(state(1, (1, 2, 3)), (4, 5, 3))
    filled = PartitionState(
        1, 5, moving.replicas, (1, 2, 3, 4, 5), (), (4, 5), (1, 2), broker_epoch=1
    )
    done = only_state(image_of(filled, live=FIVE))
    assert (done.replicas, done.in_sync, done.adding, done.removing) == (
        (4, 5, 3),
        (3, 4, 5),
        (),
        (),
    )
    assert (done.leader, done.leader_epoch) == (4, 6)


def test_a_leader_that_stays_goes_on_in_its_epoch() -> None:
    filled = PartitionState(
        3, 5, (4, 5, 3, 1, 2), (1, 2, 3, 4, 5), (), (4, 5), (1, 2), broker_epoch=1
    )
    done = only_state(image_of(filled, live=FIVE))
    assert (done.leader, done.leader_epoch) == (3, 5)


def test_another_order_of_replicas_needs_no_waiting() -> None:
    assert begun(state(1, (1, 2, 3)), (3, 1, 2)).replicas == (3, 1, 2)
    assert reassignment_steps(image_of(begun(state(1, (1, 2, 3)), (3, 1, 2))), 0) == []


def test_replicas_are_not_removed_while_too_few_others_are_in_sync() -> None:
    fewer = begun(state(1, (1, 2)), (3, 2))
    assert reassignment_steps(image_of(fewer, min_in_sync=2), 0) == []


def test_a_copy_that_may_be_needed_stays_until_enough_others_are_in_sync() -> None:
    """Node 1 has gone and has everything; of those that stay only node 3 has that, too."""
    state_then = state(3, (3,), eligible=(1,), replicas=(2, 3, 1), removing=(1,))
    live = (live_node(2), live_node(3))
    assert reassignment_steps(image_of(state_then, live=live, min_in_sync=2), 0) == []
    filled = state(3, (2, 3), replicas=(2, 3, 1), removing=(1,))
    assert only_state(image_of(filled, live=live, min_in_sync=2)).replicas == (2, 3)


def test_a_copy_that_was_brought_in_and_may_be_needed_is_not_forgotten() -> None:
    moving = state(1, (1,), eligible=(4,), replicas=(4, 1, 2), adding=(4,), removing=(2,))
    again = begun(moving, (1, 3))
    assert (again.replicas, again.removing, again.eligible) == ((1, 3, 4, 2), (4, 2), (4,))


def test_a_cancelled_reassignment_leaves_what_was_there_before() -> None:
    before = state(1, (1, 2, 3))
    assert cancelled(begun(before, (4, 5, 3))) == PartitionState(
        1, 5, (3, 1, 2), (1, 2, 3), broker_epoch=1
    )


def test_what_was_brought_in_cannot_be_given_up_while_too_few_others_have_everything() -> None:
    def can_be_cancelled(*in_sync: int) -> bool:
        moving = state(1, in_sync, replicas=(4, 1, 2), adding=(4,))
        ((member,),) = image_of(moving, live=FIVE, min_in_sync=2).groups
        return has_enough(member, (1, 2))

    assert not can_be_cancelled(1, 4)
    assert can_be_cancelled(1, 2, 4)
    assert can_be_cancelled(1), "there is no more than that"


def test_companions_finish_together() -> None:
    filled = PartitionState(3, 5, (4, 3, 1), (1, 3, 4), (), (4,), (1,), broker_epoch=1)
    waiting = PartitionState(3, 5, (4, 3, 1), (1, 3), (), (4,), (1,), broker_epoch=1)
    image = image_of(filled, waiting, live=FIVE, companion=True)
    assert reassignment_steps(image, 0) == []
    image = image_of(filled, filled, live=FIVE, companion=True)
    (decision,) = reassignment_steps(image, 0)
    assert [change.state.replicas for change in decision.changes] == [(4, 3), (4, 3)]


def test_a_companion_that_is_elsewhere_follows() -> None:
    image = image_of(
        state(1, (1, 2, 3)),
        state(1, (1, 4), replicas=(1, 4)),
        live=FIVE,
        companion=True,
    )
    (decision,) = reassignment_steps(image, 0)
    (change,) = decision.changes
    assert (change.state.replicas, change.state.adding) == ((1, 2, 3, 4), (2, 3))


@given(
    st.permutations(range(1, 8)).map(lambda order: tuple(order[:3])),
    st.permutations(range(1, 8)).map(lambda order: tuple(order[:3])),
    st.permutations(range(1, 8)).map(lambda order: tuple(order[:2])),
)
def test_however_often_the_target_changes_no_copy_in_sync_is_forgotten(
    replicas: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    moving = begun(PartitionState(replicas[0], 1, replicas, replicas[:2]), first)
    caught_up = PartitionState(
        moving.leader,
        1,
        moving.replicas,
        (*moving.in_sync, *(node for node in moving.adding[:1])),
        (),
        moving.adding,
        moving.removing,
    )
    again = begun(caught_up, second)
    assert target_of(again) == second
    assert set(again.in_sync) <= set(again.replicas)
    assert again.in_sync == caught_up.in_sync
    assert set(again.adding) <= set(second)
    assert not set(again.adding) & set(again.removing)
