"""What becomes of partitions whose nodes live, but do not reach each other."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace
from tests.fakes.cluster_image import JOURNAL, ORDERS, image_of, state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.changes import Decision
from duolog.core.controller.image import ClusterImage
from duolog.core.controller.isolation import GRACE_MS, Isolation
from duolog.core.controller.rests import REST_MS
from duolog.core.controller.settlement import settlement
from duolog.core.controller.upkeep import Upkeep
from duolog.model.partition_state import PartitionState
from duolog.model.statement import Statement

NODES = (1, 2, 3)


def statements(
    unreachable: Mapping[int, Sequence[int]], readers: Mapping[int, Sequence[int]] | None = None
) -> dict[int, Statement]:
    """Node → whom it cannot reach, and who reads from it."""
    readers = readers or {}
    return {
        node: Statement(node, 1, tuple(unreachable.get(node, ())), tuple(readers.get(node, ())))
        for node in {*unreachable, *readers}
    }


def cut_off(node: int, among: Sequence[int] = NODES) -> dict[int, Statement]:
    """The node and all others say that they cannot reach each other."""
    others = [each for each in among if each != node]
    return statements({node: others, **{each: [node] for each in others}})


def states_of(decisions: Sequence[Decision]) -> list[PartitionState]:
    return [change.state for decision in decisions for change in decision.changes]


def decided(image: ClusterImage) -> list[PartitionState]:
    """What becomes of the partitions once all who might speak have done so."""
    isolation = Isolation()
    return states_of(isolation.decisions(image, 0) or isolation.decisions(image, GRACE_MS))


class History:
    """One partition, and a controller that looks at it again and again."""

    def __init__(self, first: PartitionState) -> None:
        self.isolation = Isolation()
        self.state = first

    def look(self, now_ms: int, said: Mapping[int, Statement], *, is_committed: bool = True) -> int:
        """Returns the number of changes."""
        image = image_of(self.state, min_in_sync=1, statements=said)
        new = states_of(self.isolation.decisions(image, now_ms))
        if new and is_committed:
            (self.state,) = new
        return len(new)


def test_a_leader_that_its_followers_cannot_reach_is_replaced_and_leaves_the_set() -> None:
    image = image_of(state(1, NODES), min_in_sync=2, statements=cut_off(1))
    (decision,) = Isolation().decisions(image, 0)
    (new,) = states_of([decision])
    assert (new.leader, new.leader_epoch, new.in_sync) == (2, 6, (2, 3))
    assert [node.id for node in decision.elected] == [2]
    (event,) = decision.events
    assert (event.kind, event.subject) == ("leader moved", "orders-0")
    assert "node 2, 3 cannot reach it" in event.text


def test_a_one_way_cut_that_only_followers_notice_is_enough() -> None:
    said = statements({2: [1], 3: [1]}, {1: []})
    (new,) = decided(image_of(state(1, NODES), min_in_sync=2, statements=said))
    assert (new.leader, new.in_sync) == (2, (2, 3))


def test_a_leader_that_one_of_two_followers_cannot_reach_stays() -> None:
    said = statements({2: [1]}, {1: [3]})
    (new,) = decided(image_of(state(1, NODES), min_in_sync=2, statements=said))
    assert (new.leader, new.leader_epoch) == (1, 5)


def test_nothing_is_done_while_all_reach_each_other_or_say_nothing() -> None:
    assert decided(image_of(state(1, NODES), statements={})) == []
    said = statements({}, {1: [2, 3], 2: [1, 3], 3: [1, 2]})
    assert decided(image_of(state(1, NODES), statements=said)) == []


def test_what_was_said_under_an_earlier_broker_epoch_does_not_count() -> None:
    live = (live_node(1), live_node(2, epoch=9), live_node(3, epoch=9))
    assert decided(image_of(state(1, NODES), live=live, statements=cut_off(1))) == []


def test_a_leader_from_which_its_followers_read_is_not_unreachable() -> None:
    said = statements({2: [1], 3: [1]}, {1: [2, 3]})
    assert decided(image_of(state(1, NODES), statements=said)) == []


def test_a_leader_that_may_have_acknowledged_alone_is_not_replaced() -> None:
    image = image_of(state(1, (1,)), min_in_sync=1, statements=cut_off(1))
    assert decided(image) == []


def test_followers_that_are_still_eligible_take_over() -> None:
    shrunk = state(1, (1,), eligible=(2, 3))
    (new,) = decided(image_of(shrunk, min_in_sync=2, statements=cut_off(1)))
    assert (new.leader, new.in_sync, new.eligible) == (2, (2, 3), ())


def test_eligible_followers_do_not_count_once_the_set_is_large_enough() -> None:
    shrunk = state(1, (1,), eligible=(2, 3))
    assert decided(image_of(shrunk, min_in_sync=1, statements=cut_off(1))) == []


def test_the_new_set_is_never_below_the_minimum() -> None:
    image = image_of(state(1, (1, 2)), min_in_sync=2, statements=cut_off(1))
    assert decided(image) == []
    image = image_of(state(1, (1, 2)), min_in_sync=1, statements=cut_off(1))
    (new,) = decided(image)
    assert (new.leader, new.in_sync) == (2, (2,))


def test_a_set_that_is_too_small_passes_to_a_complete_follower_that_others_reach() -> None:
    shrunk = state(1, (1,), eligible=(3,))
    (new,) = decided(image_of(shrunk, min_in_sync=2, statements=cut_off(1)))
    assert (new.leader, new.in_sync, new.eligible) == (3, (3,), (1,))


def test_a_set_that_is_too_small_stays_where_nobody_reaches_the_complete_follower() -> None:
    shrunk = state(1, (1,), eligible=(3,))
    said = statements({1: [2, 3], 2: [1, 3], 3: [1, 2]})
    assert decided(image_of(shrunk, min_in_sync=2, statements=said)) == []


def test_a_node_that_registered_anew_is_neither_elected_nor_counted() -> None:
    live = (live_node(1), live_node(2, epoch=2), live_node(3))
    said = {**cut_off(1), 2: Statement(2, 2, (1,))}
    records = {each.id: image_of(state(1, NODES)).records[each.id] for each in live}
    image = image_of(state(1, NODES), live=live, records=records, min_in_sync=2, statements=said)
    assert decided(image) == []


def test_the_successor_is_one_that_the_other_followers_reach() -> None:
    live = tuple(live_node(node) for node in (1, 2, 3, 4, 5))
    said = statements({1: [2, 3, 4, 5], 2: [1, 3], 3: [1, 2], 4: [1, 2], 5: [1, 2]})
    wide = state(1, (1, 2, 3, 4, 5), replicas=(1, 2, 3, 4, 5))
    (new,) = decided(image_of(wide, live=live, min_in_sync=2, statements=said))
    assert (new.leader, new.in_sync) == (3, (3, 4, 5))


def test_the_larger_part_of_a_divided_cluster_takes_over() -> None:
    live = tuple(live_node(node) for node in (1, 2, 3, 4, 5))
    said = statements({1: [3, 4, 5], 2: [3, 4, 5], 3: [1, 2], 4: [1, 2], 5: [1, 2]})
    replicas = (1, 2, 3, 4, 5)
    wide = [state(leader, replicas, replicas=replicas) for leader in replicas]
    image = image_of(*wide, live=live, min_in_sync=2, statements=said)
    leaders = [new.leader for new in states_of(Isolation().decisions(image, 0))]
    assert all(leader in (3, 4, 5) for leader in leaders)
    assert {new.in_sync for new in decided(image)} == {(3, 4, 5)}


def test_nobody_takes_over_where_all_are_cut_off_from_each_other() -> None:
    said = statements({1: [2, 3], 2: [1, 3], 3: [1, 2]})
    assert decided(image_of(state(1, NODES), min_in_sync=2, statements=said)) == []
    (new,) = decided(image_of(state(1, NODES), min_in_sync=1, statements=said))
    assert (new.leader, new.in_sync) == (1, (1,))


def test_half_of_the_followers_do_not_depose_their_leader_whoever_else_misses_it() -> None:
    live = tuple(live_node(node) for node in (1, 2, 3, 4))
    said = statements({2: [1], 4: [1]}, {1: [3]})
    (new,) = decided(image_of(state(1, NODES), live=live, min_in_sync=2, statements=said))
    assert (new.leader, new.in_sync) == (1, (1, 3))


def test_a_follower_alone_does_not_depose_its_leader() -> None:
    pair = state(1, (1, 2), replicas=(1, 2))
    (new,) = decided(image_of(pair, min_in_sync=1, statements=statements({2: [1], 1: [2]})))
    assert (new.leader, new.in_sync) == (1, (1,))


def test_a_follower_and_a_witness_depose_its_leader() -> None:
    pair = state(1, (1, 2), replicas=(1, 2))
    (new,) = decided(image_of(pair, min_in_sync=1, statements=cut_off(1)))
    assert (new.leader, new.in_sync) == (2, (2,))


def test_a_cut_follower_leaves_the_set_and_the_leader_stays() -> None:
    image = image_of(state(2, NODES, replicas=(2, 1, 3)), min_in_sync=2, statements=cut_off(1))
    (decision,) = Isolation().decisions(image, 0)
    (new,) = states_of([decision])
    assert (new.leader, new.leader_epoch, new.in_sync) == (2, 5, (2, 3))
    assert decision.elected == ()
    assert decision.events[0].kind == "replica cut off"


def test_a_follower_that_speaks_first_can_still_succeed_its_leader() -> None:
    isolation = Isolation()
    led = state(1, NODES)
    first = image_of(led, min_in_sync=2, statements=statements({2: [1]}))
    assert isolation.decisions(first, 10_000) == []
    assert isolation.wait_ms(10_100) == GRACE_MS - 100
    both = image_of(led, min_in_sync=2, statements=statements({2: [1], 3: [1]}))
    (new,) = states_of(isolation.decisions(both, 10_100))
    assert (new.leader, new.in_sync) == (2, (2, 3))


def test_a_follower_that_stays_the_only_one_leaves_the_set_after_a_grace() -> None:
    isolation = Isolation()
    said = statements({2: [1]}, {1: [3]})
    image = image_of(state(1, NODES), min_in_sync=2, statements=said)
    assert isolation.decisions(image, 10_000) == []
    assert isolation.wait_ms(10_000 + GRACE_MS) == 0
    (new,) = states_of(isolation.decisions(image, 10_000 + GRACE_MS))
    assert (new.leader, new.in_sync) == (1, (1, 3))
    assert isolation.wait_ms(10_000 + GRACE_MS) is None


def test_a_follower_stays_in_the_set_of_a_leader_that_nobody_else_reads_from() -> None:
    """The third is only slow to notice: both are needed to replace the leader."""
    isolation = Isolation()
    led = state(1, NODES)
    first = image_of(led, min_in_sync=2, statements=statements({2: [1]}, {1: []}))
    assert isolation.decisions(first, 0) == []
    assert isolation.decisions(first, 10 * GRACE_MS) == []
    both = image_of(led, min_in_sync=2, statements=statements({2: [1], 3: [1]}, {1: []}))
    (new,) = states_of(isolation.decisions(both, 11 * GRACE_MS))
    assert (new.leader, new.in_sync) == (2, (2, 3))


def test_a_follower_that_the_set_needs_stays_in_it() -> None:
    image = image_of(state(2, (2, 1)), min_in_sync=2, statements=cut_off(1))
    assert decided(image) == []


def test_companions_are_moved_together() -> None:
    pair = [state(1, NODES), state(1, NODES)]
    image = image_of(*pair, companion=True, min_in_sync=2, statements=cut_off(1))
    (decision,) = Isolation().decisions(image, 0)
    assert {change.partition.topic_id for change in decision.changes} == {ORDERS, JOURNAL}
    assert {(new.leader, new.in_sync) for new in states_of([decision])} == {(2, (2, 3))}


def test_a_successor_is_complete_in_all_companions() -> None:
    pair = [state(1, NODES), state(1, (1, 3))]
    image = image_of(*pair, companion=True, min_in_sync=1, statements=cut_off(1))
    assert {new.leader for new in decided(image)} == {3}


def test_a_follower_that_one_companion_needs_stays_in_both() -> None:
    pair = [state(2, NODES), state(2, (1, 2))]
    image = image_of(*pair, companion=True, min_in_sync=2, statements=cut_off(1))
    assert decided(image) == []


def test_a_partition_is_moved_once_in_thirty_seconds() -> None:
    history = History(state(1, NODES))
    assert history.look(0, cut_off(1)) == 1
    # The first is back, and the second is cut off now.
    history.state = replace(history.state, in_sync=NODES)
    assert history.look(1_000, {}) == 0
    assert history.look(1_000 + REST_MS - 1, cut_off(2)) == 0
    assert history.isolation.wait_ms(1_000 + REST_MS - 1) == 1
    assert history.look(1_000 + REST_MS, cut_off(2)) == 1
    assert (history.state.leader, history.state.in_sync) == (1, (1, 3))


def test_a_move_that_was_not_committed_is_decided_again_at_once() -> None:
    history = History(state(1, NODES))
    assert history.look(0, cut_off(1), is_committed=False) == 1
    assert history.look(1, cut_off(1)) == 1


def test_a_follower_that_is_cut_off_again_soon_is_not_waited_for_either() -> None:
    history = History(state(2, NODES))
    assert history.look(0, cut_off(1)) == 1
    assert history.look(1, cut_off(1)) == 0
    history.state = replace(history.state, in_sync=NODES)
    assert history.look(1_000, cut_off(1)) == 1


def test_a_leader_is_replaced_though_a_follower_was_just_removed() -> None:
    history = History(state(2, NODES))
    assert history.look(0, cut_off(1)) == 1
    assert history.look(1, cut_off(2)) == 1
    assert (history.state.leader, history.state.in_sync) == (3, (3,))


def test_a_preferred_leader_that_the_others_cannot_reach_is_not_led_back_to() -> None:
    led_elsewhere = state(2, NODES)
    image = image_of(led_elsewhere, min_in_sync=2, statements=statements({2: [1], 3: [1]}))
    assert states_of(Upkeep(0, 0).decisions(image, 1)) == []
    image = image_of(led_elsewhere, min_in_sync=2)
    assert [new.leader for new in states_of(Upkeep(0, 0).decisions(image, 1))] == [1]


def test_an_election_prefers_a_node_that_the_others_reach() -> None:
    live = (live_node(2), live_node(3), live_node(4))
    said = statements({3: [2], 4: [2]})
    led = state(1, (1, 2, 3, 4), replicas=(1, 2, 3, 4))
    (decision,) = settlement(image_of(led, live=live, min_in_sync=2, statements=said), 0)
    assert [new.leader for new in states_of([decision])] == [3]


def test_an_election_takes_a_node_that_the_others_cannot_reach_rather_than_nobody() -> None:
    live = (live_node(2), live_node(3), live_node(4))
    led = state(1, (1, 2))
    image = image_of(led, live=live, statements=statements({3: [2], 4: [2]}))
    assert [new.leader for new in states_of(settlement(image, 0))] == [2]
