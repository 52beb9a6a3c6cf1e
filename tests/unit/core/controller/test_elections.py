import msgspec
from tests.fakes.cluster_image import image_of, record_of, state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.changes import Decision
from duolog.core.controller.image import ClusterImage
from duolog.core.controller.settlement import admissions, settlement, wanted_log_ends
from duolog.model.partition_state import NO_LEADER, PartitionState


def settled(image: ClusterImage) -> list[Decision]:
    return settlement(image, now_ms=7)


def only_state(image: ClusterImage) -> PartitionState:
    (decision,) = settled(image)
    (change,) = decision.changes
    return change.state


def kinds(image: ClusterImage) -> list[str]:
    return [event.kind for decision in settled(image) for event in decision.events]


def returned(node: int, **changes: object):
    """Registered anew; the controller knows it under epoch 1."""
    return live_node(node, epoch=9, **changes)


KNOWN = {node: record_of(live_node(node)) for node in (1, 2, 3)}


def test_a_healthy_cluster_needs_no_decision() -> None:
    assert settled(image_of(state(1, (1, 2, 3)), state(2, (2, 3), eligible=()))) == []


def test_the_first_live_in_sync_replica_takes_over() -> None:
    new = only_state(image_of(state(1, (1, 2, 3)), live=(live_node(2), live_node(3))))
    assert (new.leader, new.leader_epoch, new.in_sync, new.eligible) == (2, 6, (2, 3), ())
    assert new.broker_epoch == 1


def test_a_node_that_drains_is_elected_last() -> None:
    live = (live_node(2, draining=True), live_node(3))
    assert only_state(image_of(state(1, (1, 2, 3)), live=live)).leader == 3


def test_whom_a_decision_elects_is_compared() -> None:
    live = (live_node(2), live_node(3))
    (decision,) = settled(image_of(state(1, (1, 2, 3)), live=live))
    assert decision.elected == (live_node(2),)


def test_a_lost_follower_leaves_the_set_without_an_election() -> None:
    new = only_state(image_of(state(1, (1, 2, 3)), live=(live_node(1), live_node(3))))
    assert (new.leader, new.leader_epoch, new.in_sync) == (1, 5, (1, 3))


def test_who_leaves_a_set_that_gets_too_small_stays_eligible() -> None:
    image = image_of(state(1, (1, 2)), live=(live_node(2), live_node(3)), min_in_sync=2)
    new = only_state(image)
    assert (new.leader, new.in_sync, new.eligible) == (2, (2,), (1,))


def test_an_eligible_replica_leads_when_no_other_is_left() -> None:
    old = state(NO_LEADER, (2,), eligible=(3,))
    new = only_state(image_of(old, live=(live_node(1), live_node(3)), min_in_sync=2))
    assert (new.leader, new.in_sync, new.eligible) == (3, (3,), (2,))


def test_who_was_eligible_under_a_stricter_setting_is_not_any_more() -> None:
    """With fewer replicas asked for, the set may have acknowledged without it since."""
    old = state(2, (2,), eligible=(3,))
    new = only_state(image_of(old, live=(live_node(1), live_node(3)), min_in_sync=1))
    assert (new.leader, new.in_sync) == (NO_LEADER, (2,))


def test_rule_07_nobody_leads_who_is_not_in_sync() -> None:
    old = state(1, (1,))
    image = image_of(old, live=(live_node(2), live_node(3)))
    new = only_state(image)
    assert (new.leader, new.leader_epoch, new.in_sync) == (NO_LEADER, 6, (1,))
    assert kinds(image) == ["leader lost"]


def test_an_unclean_election_only_where_the_topic_asks_for_it() -> None:
    live = (live_node(2), live_node(3))
    ends = {2: (5, 8), 3: (5, 8)}
    image = image_of(state(1, (1,)), live=live, ends=ends, is_unclean_allowed=True)
    new = only_state(image)
    assert (new.leader, new.leader_epoch, new.in_sync, new.eligible) == (2, 6, (2,), ())
    assert new.is_unclean
    assert kinds(image) == ["leader elected uncleanly"]


def test_rule_07_the_longest_log_is_elected_uncleanly_not_the_first_in_the_list() -> None:
    live = (live_node(1), live_node(2), live_node(3))
    for ends, longest in (
        ({1: (5, 200), 2: (5, 6_000), 3: (5, 200)}, 2),
        ({1: (4, 9_000), 2: (5, 200), 3: (5, 300)}, 3),
        ({1: (-1, 0), 3: (0, 1)}, 3),
    ):
        old = state(NO_LEADER, (), incomplete=(1,))
        image = image_of(old, live=live, ends=ends, is_unclean_allowed=True)
        new = only_state(image)
        assert (new.leader, new.in_sync, new.incomplete) == (longest, (longest,), ())


def test_an_unclean_election_waits_until_the_logs_are_known() -> None:
    live = (live_node(2), live_node(3))
    image = image_of(state(1, (1,)), live=live, is_unclean_allowed=True)
    assert only_state(image).leader == NO_LEADER
    (asked,) = wanted_log_ends(image).values()
    assert asked == live


def test_nobody_is_asked_where_a_clean_election_is_possible_or_no_other_is_allowed() -> None:
    live = (live_node(2), live_node(3))
    assert wanted_log_ends(image_of(state(1, (1,)), live=live)) == {}
    clean = image_of(state(1, (1, 2)), live=live, is_unclean_allowed=True)
    assert wanted_log_ends(clean) == {}


def test_an_unclean_epoch_is_above_all_that_any_log_has_reached() -> None:
    """Else the elected copy would refuse it."""
    old = state(NO_LEADER, (), incomplete=(1, 2, 3))
    ends = {1: (8, 4), 2: (9, 4), 3: (5, 9)}
    new = only_state(image_of(old, ends=ends, is_unclean_allowed=True))
    assert (new.leader, new.leader_epoch, new.unclean_epoch) == (2, 10, 10)


def test_an_unclean_election_of_one_companion_costs_the_other_nothing() -> None:
    """Node 1 has all messages; nobody has all of the journal, and node 3 has most of it."""
    messages, journal = state(1, (1, 2)), state(NO_LEADER, (), incomplete=(1,))
    ends = {1: (4, 10), 2: (4, 10), 3: (4, 70)}
    image = image_of(messages, journal, ends=ends, companion=True, is_unclean_allowed=True)
    (decision,) = settled(image)
    (change,) = decision.changes
    assert (change.mod_revision, change.state.leader) == (101, 3)
    assert [live.id for live in decision.elected] == [3]


def test_of_equal_journals_the_leader_of_the_messages_has_the_chosen_one() -> None:
    messages, journal = state(2, (2, 3)), state(NO_LEADER, (), incomplete=(1,))
    ends = dict.fromkeys((1, 2, 3), (4, 10))
    image = image_of(messages, journal, ends=ends, companion=True, is_unclean_allowed=True)
    (decision,) = settled(image)
    assert [change.state.leader for change in decision.changes] == [2]


def test_who_resigned_is_not_elected_again_while_another_may_have_more() -> None:
    """Node 2 is away: it may return with everything."""
    old = state(NO_LEADER, (2,), incomplete=(1,))
    image = image_of(old, live=(live_node(1), live_node(3)))
    assert settled(image) == []
    assert only_state(image_of(old)).leader == 2


def test_where_the_last_of_the_set_resigned_nobody_leads() -> None:
    assert settled(image_of(state(NO_LEADER, (), incomplete=(1,)))) == []


def test_the_last_one_in_sync_leads_again_when_it_is_back() -> None:
    image = image_of(state(NO_LEADER, (1,)), live=(returned(1), live_node(2)), records=KNOWN)
    new = only_state(image)
    assert (new.leader, new.leader_epoch, new.broker_epoch) == (1, 6, 9)


def test_rule_04_a_leader_that_registered_anew_is_elected_anew() -> None:
    image = image_of(state(1, (1,)), live=(returned(1), live_node(2)), records=KNOWN)
    new = only_state(image)
    assert (new.leader, new.leader_epoch, new.broker_epoch) == (1, 6, 9)


def test_rule_04_so_is_one_whose_return_was_noticed_elsewhere() -> None:
    """The controller that had judged the node did not come to this partition any more."""
    new = only_state(image_of(state(1, (1, 2)), live=(returned(1), live_node(2))))
    assert (new.leader, new.leader_epoch, new.broker_epoch) == (1, 6, 9)


def test_rule_04_an_emptied_disk_is_not_elected_as_an_eligible_one() -> None:
    old = state(NO_LEADER, (2,), eligible=(3,))
    live = (live_node(1), returned(3, directory="a new one"))
    new = only_state(image_of(old, live=live, records=KNOWN, min_in_sync=2))
    assert (new.leader, new.in_sync, new.eligible) == (NO_LEADER, (2,), ())


def test_rule_07_who_was_away_re_earns_its_place() -> None:
    live = (live_node(1), returned(2), live_node(3))
    new = only_state(image_of(state(1, (1, 2, 3)), live=live, records=KNOWN))
    assert (new.leader, new.leader_epoch, new.in_sync) == (1, 5, (1, 3))


def test_rule_07_who_may_have_lost_records_is_neither_in_sync_nor_eligible() -> None:
    crashed = returned(2, stopped_cleanly=False)
    old = state(1, (1, 2), eligible=(3,))
    live = (live_node(1), crashed, live_node(3))
    new = only_state(image_of(old, live=live, records=KNOWN, is_fsync=False, min_in_sync=2))
    assert (new.in_sync, new.eligible) == ((1,), (3,))


def test_who_crashed_has_lost_nothing_that_was_synced() -> None:
    crashed = returned(2, stopped_cleanly=False)
    live = (live_node(1), crashed, live_node(3))
    new = only_state(image_of(state(1, (1, 2)), live=live, records=KNOWN, min_in_sync=2))
    assert (new.in_sync, new.eligible) == ((1,), (2,))


def test_rule_07_a_crashed_replica_waits_for_one_that_lost_nothing() -> None:
    image = image_of(
        state(1, (1, 2)),
        live=(returned(1, stopped_cleanly=False), live_node(3)),
        records=KNOWN,
        is_fsync=False,
    )
    new = only_state(image)
    assert (new.leader, new.in_sync) == (NO_LEADER, (2,))


def test_when_all_crashed_the_leader_is_taken_for_the_best() -> None:
    live = tuple(returned(node, stopped_cleanly=False) for node in (1, 2, 3))
    new = only_state(image_of(state(2, (1, 2, 3)), live=live, records=KNOWN, is_fsync=False))
    assert (new.leader, new.in_sync) == (2, (2,))


def test_rule_04_an_emptied_disk_is_in_no_set() -> None:
    live = (live_node(1), returned(2, directory="a new one"), live_node(3))
    old = state(1, (1, 2), eligible=(3,))
    new = only_state(image_of(old, live=live, records=KNOWN, min_in_sync=2))
    assert (new.in_sync, new.eligible) == ((1,), (3,))


def test_rule_04_an_emptied_disk_does_not_lead_even_as_the_last() -> None:
    image = image_of(
        state(1, (1,)), live=(returned(1, directory="a new one"), live_node(2)), records=KNOWN
    )
    new = only_state(image)
    assert (new.leader, new.in_sync) == (NO_LEADER, ())
    assert kinds(image) == ["leader lost", "data lost"]


def test_what_was_made_since_the_disk_was_emptied_is_whole() -> None:
    """A topic that was created on the node before the controller had judged it."""
    live = (returned(1, directory="a new one"), live_node(2))
    made = state(1, (1, 2), broker_epoch=9)
    assert settled(image_of(made, live=live, records=KNOWN)) == []


def test_a_node_is_judged_once() -> None:
    live = (returned(1, directory="a new one"), live_node(2))
    image = image_of(state(2, (2,)), live=live, records=KNOWN)
    (record,) = admissions(image)
    assert (record.node, record.directory, record.epoch) == (1, "a new one", 9)
    after = msgspec.structs.replace(record, draining=False)
    assert admissions(image_of(live=live, records={**KNOWN, 1: after})) == []


def test_companions_get_the_same_leader_at_once() -> None:
    """Node 2 is in sync for one of them only."""
    image = image_of(
        state(1, (1, 2, 3)),
        state(1, (1, 3)),
        live=(live_node(2), live_node(3)),
        companion=True,
    )
    (decision,) = settled(image)
    assert [change.state.leader for change in decision.changes] == [3, 3]


def test_companions_that_disagree_follow_the_messages() -> None:
    image = image_of(state(2, (1, 2, 3)), state(1, (1, 2, 3)), companion=True)
    (decision,) = settled(image)
    (change,) = decision.changes
    assert (change.state.leader, change.mod_revision) == (2, 101)


def test_an_asynchronous_replica_is_never_elected() -> None:
    image = image_of(
        state(1, (1,), asynchronous=(2, 3)),
        live=(live_node(2), live_node(3)),
        is_unclean_allowed=True,
    )
    assert only_state(image).leader == NO_LEADER


def test_companions_that_share_no_node_are_led_each_for_itself() -> None:
    """Otherwise nothing could be copied to bring them together."""
    apart = state(4, (4,), replicas=(4,))
    live = (live_node(2), live_node(3), live_node(4, epoch=9))
    image = image_of(state(1, (1, 2)), apart, live=live, companion=True)
    (decision,) = settled(image)
    assert [change.state.leader for change in decision.changes] == [2, 4]
    assert decision.elected == (live_node(2), live_node(4, epoch=9)), "all that lead are compared"


def test_companions_without_a_common_node_in_sync_wait_for_all_that_were() -> None:
    """Node 2 is alive and in sync for the messages only: node 1 may lead both again."""
    image = image_of(
        state(1, (1, 2)), state(1, (1,)), live=(live_node(2), live_node(3)), companion=True
    )
    (decision,) = settled(image)
    assert [change.state.leader for change in decision.changes] == [NO_LEADER, NO_LEADER]
    assert [change.state.in_sync for change in decision.changes] == [(1, 2), (1,)]


def test_companions_of_which_nobody_has_everything_are_led_apart_until_somebody_has() -> None:
    """Node 2 alone may have what the journal has, and nodes 1 and 3 the messages."""
    journal = state(NO_LEADER, (), eligible=(2,))
    image = image_of(state(1, (1, 3)), journal, min_in_sync=2, companion=True)
    (decision,) = settled(image)
    assert [change.state.leader for change in decision.changes] == [2]
    apart = image_of(state(1, (1, 3)), state(2, (2,)), min_in_sync=2, companion=True)
    assert settled(apart) == [], "and stay so"
    copied = image_of(state(1, (1, 2, 3)), state(2, (2,)), min_in_sync=2, companion=True)
    (decision,) = settled(copied)
    assert [change.state.leader for change in decision.changes] == [2]


def test_a_replica_that_is_brought_in_does_not_raise_what_is_required() -> None:
    """Else the one that was enough would leave somebody eligible behind it."""
    old = state(1, (1, 2), replicas=(1, 2), adding=(2,))
    image = image_of(old, live=(live_node(1),), min_in_sync=2)
    new = only_state(image)
    assert (new.in_sync, new.eligible) == ((1,), ())
