from tests.fakes.cluster_image import image_of, live_node, state

from duolog.core.controller.completion import completed_replicas
from duolog.model.partition_state import PartitionState


def held_by(*replicas: int) -> PartitionState:
    return state(1, replicas, replicas=replicas)


def replicas_of(*states: PartitionState, **topic: object) -> list[tuple[int, ...]]:
    decisions = completed_replicas(image_of(*states, **topic), 0)
    return [change.state.replicas for decision in decisions for change in decision.changes]


def test_partitions_get_the_replicas_for_which_there_were_no_brokers() -> None:
    assert replicas_of(held_by(1), factor=3) == [(1, 2, 3)]


def test_some_more_replicas_are_better_than_none() -> None:
    live = (live_node(1), live_node(2))
    assert replicas_of(held_by(1), factor=3, live=live) == [(1, 2)]
    assert replicas_of(held_by(1, 2), factor=3, live=live) == []


def test_a_topic_whose_maker_chose_the_number_keeps_it() -> None:
    assert replicas_of(held_by(1)) == []


def test_a_node_that_is_being_emptied_gets_no_more() -> None:
    live = (live_node(1), live_node(2, draining=True), live_node(3))
    assert replicas_of(held_by(1), factor=3, live=live) == [(1, 3)]


def test_companions_are_completed_together() -> None:
    found = replicas_of(held_by(1), held_by(1), factor=2, companion=True)
    assert len(found) == 2
    assert found[0] == found[1]


def test_a_partition_that_gets_its_second_replica_goes_on_acknowledging() -> None:
    (decision,) = completed_replicas(image_of(held_by(1), factor=2, min_in_sync=2), 0)
    assert decision.changes[0].state.dependable_count == 1
    assert [event.kind for event in decision.events] == ["reassignment begun"]
