import pytest
from tests.fakes.cluster_image import image_of, record_of, state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.changes import Decision
from duolog.core.controller.full_disks import full_disk_moves
from duolog.core.controller.image import ClusterImage
from duolog.core.controller.preferred import PreferredLeaders
from duolog.core.controller.settlement import settlement
from duolog.core.controller.upkeep import Upkeep
from duolog.model.partition_state import PartitionState
from duolog.model.statement import Statement

NOW_MS = 7


def full(*nodes: int, epoch: int = 1) -> dict[int, Statement]:
    return {node: Statement(node, epoch, full=True) for node in nodes}


def moved(image: ClusterImage) -> list[Decision]:
    return full_disk_moves(image, NOW_MS)


def only_state(image: ClusterImage) -> PartitionState:
    (decision,) = moved(image)
    (change,) = decision.changes
    return change.state


def test_a_leader_on_a_full_disk_gives_up_the_lead_and_its_place_in_one_change() -> None:
    image = image_of(state(1, (1, 2, 3)), statements=full(1), min_in_sync=2)
    new = only_state(image)
    assert (new.leader, new.leader_epoch, new.in_sync, new.eligible) == (2, 6, (2, 3), ())
    (decision,) = moved(image)
    assert decision.elected == (live_node(2),)
    assert [event.kind for event in decision.events] == ["leader moved"]


def test_a_follower_on_a_full_disk_leaves_without_an_election() -> None:
    image = image_of(state(1, (1, 2, 3)), statements=full(3), min_in_sync=2)
    new = only_state(image)
    assert (new.leader, new.leader_epoch, new.in_sync) == (1, 5, (1, 2))
    (decision,) = moved(image)
    assert decision.elected == ()
    assert [event.kind for event in decision.events] == ["replica left"]


@pytest.mark.parametrize(
    ("in_sync", "of_them_full", "min_in_sync"),
    [((1, 2, 3), (1, 2), 2), ((1, 2), (1,), 2), ((1, 2, 3), (1, 2, 3), 1), ((1,), (1,), 1)],
)
def test_where_too_few_members_with_room_would_remain_all_stay(
    in_sync: tuple[int, ...], of_them_full: tuple[int, ...], min_in_sync: int
) -> None:
    """The set stays in sync, and journals can be committed."""
    old = state(1, in_sync)
    assert moved(image_of(old, statements=full(*of_them_full), min_in_sync=min_in_sync)) == []


def test_eligible_replicas_count_while_the_set_is_too_small_to_have_acknowledged_anything() -> None:
    old = state(1, (1,), eligible=(2, 3))
    new = only_state(image_of(old, statements=full(1), min_in_sync=2))
    assert (new.leader, new.in_sync, new.eligible) == (2, (2, 3), ())
    acknowledged_alone = state(1, (1,), eligible=(2, 3))
    assert moved(image_of(acknowledged_alone, statements=full(1), min_in_sync=1)) == []


def test_companions_are_given_up_together() -> None:
    """Node 2 is in sync for the messages only, so node 3 takes both."""
    messages, journal = state(1, (1, 2, 3)), state(1, (1, 3))
    image = image_of(messages, journal, statements=full(1), companion=True, min_in_sync=1)
    (decision,) = moved(image)
    assert [change.state.leader for change in decision.changes] == [3, 3]
    assert [change.state.in_sync for change in decision.changes] == [(2, 3), (3,)]


def test_if_one_companion_cannot_spare_the_member_none_gives_it_up() -> None:
    messages, journal = state(1, (1, 2, 3)), state(1, (1, 2))
    image = image_of(messages, journal, statements=full(1), companion=True, min_in_sync=2)
    assert moved(image) == []


def test_a_member_that_others_cannot_reach_is_none_to_rely_on() -> None:
    statements = full(1) | {
        2: Statement(2, 1, unreachable=(3,)),
        1: Statement(1, 1, unreachable=(3,), full=True),
    }
    assert moved(image_of(state(1, (1, 2, 3)), statements=statements, min_in_sync=2)) == []


def test_a_leader_that_others_cannot_reach_stays_in_the_set_that_a_follower_leaves() -> None:
    """Who replaces it is decided elsewhere."""
    statements = full(4) | {node: Statement(node, 1, unreachable=(1,)) for node in (2, 3)}
    old = state(1, (1, 2, 3, 4), replicas=(1, 2, 3, 4))
    live = tuple(live_node(node) for node in (1, 2, 3, 4))
    new = only_state(image_of(old, live=live, statements=statements, min_in_sync=2))
    assert (new.leader, new.in_sync) == (1, (1, 2, 3))


def test_eligible_replicas_do_not_enter_for_a_follower_that_leaves() -> None:
    """Their leader does not know how far they are."""
    old = state(1, (1, 4), replicas=(1, 2, 3, 4), eligible=(2, 3))
    live = tuple(live_node(node) for node in (1, 2, 3, 4))
    assert moved(image_of(old, live=live, statements=full(4), min_in_sync=3)) == []


def test_what_an_earlier_run_of_a_node_said_does_not_count() -> None:
    image = image_of(state(1, (1, 2, 3)), statements=full(1, epoch=9), min_in_sync=2)
    assert moved(image) == []


def test_a_full_node_is_elected_only_where_no_member_has_room() -> None:
    live = (live_node(2), live_node(3))
    records = {each.id: record_of(each) for each in live}
    for of_them_full, elected in (((2,), 3), ((2, 3), 2)):
        image = image_of(
            state(1, (1, 2, 3)), live=live, records=records, statements=full(*of_them_full)
        )
        (decision,) = settlement(image, NOW_MS)
        (change,) = decision.changes
        assert change.state.leader == elected


def test_the_lead_goes_back_to_a_preferred_leader_only_when_it_has_room() -> None:
    image = image_of(state(2, (1, 2, 3)), statements=full(1))
    assert PreferredLeaders().moves(image, NOW_MS) == []
    assert PreferredLeaders().moves(image_of(state(2, (1, 2, 3))), NOW_MS) != []


def test_full_disks_are_seen_to_before_anything_that_can_wait() -> None:
    image = image_of(state(2, (1, 2, 3)), statements=full(2), min_in_sync=2)
    upkeep = Upkeep(1_000, NOW_MS)
    (decision,) = upkeep.decisions(image, NOW_MS + 10_000)
    assert [change.state.in_sync for change in decision.changes] == [(1, 3)]
