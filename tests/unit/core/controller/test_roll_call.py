from dataclasses import replace

from tests.fakes.cluster_image import image_of, record_of, state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.image import ClusterImage
from duolog.core.controller.roll_call import RollCall


def called(roll: RollCall, image: ClusterImage) -> list[tuple[str, str]]:
    return [(event.kind, event.subject) for event in roll.events(image, 0)]


ALL = image_of(state(1, (1, 2)))


def without(*nodes: int) -> ClusterImage:
    live = {node: live for node, live in ALL.live.items() if node not in nodes}
    return replace(ALL, live=live)


def test_nothing_is_said_of_those_who_are_there() -> None:
    roll = RollCall()
    assert called(roll, ALL) == []
    assert called(roll, ALL) == []


def test_a_node_that_goes_and_comes_back_is_noted() -> None:
    roll = RollCall()
    roll.events(ALL, 0)
    (lost,) = roll.events(without(1), 5)
    assert (lost.time_ms, lost.kind, lost.subject) == (5, "node lost", "node 1")
    assert "led 1 partitions" in lost.text
    assert called(roll, without(1)) == []
    assert called(roll, ALL) == [("node joined", "node 1")]


def test_a_new_controller_notes_whose_loss_nobody_has_dealt_with() -> None:
    assert called(RollCall(), without(1)) == [("node lost", "node 1")]
    assert called(RollCall(), without(3)) == [], "nothing counts on node 3"


def test_a_start_that_was_too_quick_to_be_missed_is_noted() -> None:
    roll = RollCall()
    roll.events(ALL, 0)
    anew = {**ALL.live, 2: live_node(2, epoch=9, stopped_cleanly=False)}
    (joined,) = roll.events(replace(ALL, live=anew), 0)
    assert joined.text.endswith("It had not stopped cleanly.")


def test_another_data_directory_is_pointed_out() -> None:
    roll = RollCall()
    roll.events(without(2), 0)
    records = {2: record_of(live_node(2, directory="the old one"))}
    (joined,) = roll.events(replace(ALL, records=records), 0)
    assert "nothing that it held counts" in joined.text
