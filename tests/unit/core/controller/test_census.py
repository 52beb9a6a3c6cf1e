from tests.fakes.cluster_image import image_of, state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.census import Census
from duolog.model.statement import Statement

ALIVE = tuple(live_node(node) for node in (1, 2, 3, 4, 5))


def census_of(*statements: Statement, live=ALIVE) -> Census:
    said = {each.node: each for each in statements}
    return Census(image_of(state(1, (1, 2, 3)), live=live, statements=said))


def test_a_node_that_says_so_is_full() -> None:
    census = census_of(Statement(1, 1, full=True), Statement(2, 1))
    assert [node for node in (1, 2, 3) if census.is_full(node)] == [1]


def test_what_a_node_said_before_it_registered_anew_does_not_count() -> None:
    said = Statement(2, 1, unreachable=(1,), full=True)
    census = census_of(said, live=(live_node(1), live_node(2, epoch=7)))
    assert not census.is_full(2)
    assert not census.cannot_reach(2, 1)


def test_what_a_node_said_that_is_gone_does_not_count() -> None:
    said = Statement(2, 1, unreachable=(1,), full=True)
    census = census_of(said, live=(live_node(1), live_node(3)))
    assert not census.is_full(2)
    assert not census.cannot_reach(2, 1)
    assert census.doubters(1) == ()


def test_silence_is_no_evidence() -> None:
    census = census_of()
    assert not census.cannot_reach(1, 2)
    assert census.doubters(1) == ()


def test_a_node_that_is_read_from_is_reached_by_its_reader() -> None:
    census = census_of(Statement(2, 1, unreachable=(1,)), Statement(1, 1, readers=(2, 3)))
    assert not census.cannot_reach(2, 1)


def test_a_node_that_is_cut_off_is_doubted_by_the_others_and_not_the_others_by_it() -> None:
    census = census_of(
        Statement(1, 1, unreachable=(2, 3)),
        Statement(2, 1, unreachable=(1,)),
        Statement(3, 1, unreachable=(1,)),
    )
    assert census.doubters(1) == (2, 3)
    assert census.doubters(2) == census.doubters(3) == ()
    assert census.cannot_reach(1, 2)


def test_two_nodes_that_do_not_reach_each_other_doubt_each_other() -> None:
    census = census_of(Statement(1, 1, unreachable=(2,)), Statement(2, 1, unreachable=(1,)))
    assert census.doubters(1) == (2,)
    assert census.doubters(2) == (1,)


def test_the_smaller_part_of_a_divided_cluster_is_doubted() -> None:
    smaller, larger = (1, 2), (3, 4, 5)
    census = census_of(
        *(Statement(node, 1, unreachable=larger) for node in smaller),
        *(Statement(node, 1, unreachable=smaller) for node in larger),
    )
    assert [node for node in (1, 2, 3, 4, 5) if census.doubters(node)] == [1, 2]
