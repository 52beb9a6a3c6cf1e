from tests.fakes.cluster_nodes import live_node

from duolog.core.membership.statements import Statements
from duolog.model.statement import Statement

ALIVE = tuple(live_node(node) for node in (1, 2, 3, 4, 5))


def said_by(*statements: Statement, live=ALIVE) -> Statements:
    return Statements({each.id: each for each in live}, {each.node: each for each in statements})


def test_a_node_that_says_so_is_full() -> None:
    said = said_by(Statement(1, 1, full=True), Statement(2, 1))
    assert [node for node in (1, 2, 3) if said.is_full(node)] == [1]


def test_what_a_node_said_before_it_registered_anew_does_not_count() -> None:
    statement = Statement(2, 1, unreachable=(1,), full=True)
    said = said_by(statement, live=(live_node(1), live_node(2, epoch=7)))
    assert not said.is_full(2)
    assert not said.cannot_reach(2, 1)


def test_what_a_node_said_that_is_gone_does_not_count() -> None:
    statement = Statement(2, 1, unreachable=(1,), full=True)
    said = said_by(statement, live=(live_node(1), live_node(3)))
    assert not said.is_full(2)
    assert not said.cannot_reach(2, 1)
    assert said.doubters(1) == ()


def test_silence_is_no_evidence() -> None:
    said = said_by()
    assert not said.cannot_reach(1, 2)
    assert said.doubters(1) == ()


def test_a_node_that_is_read_from_is_reached_by_its_reader() -> None:
    said = said_by(Statement(2, 1, unreachable=(1,)), Statement(1, 1, readers=(2, 3)))
    assert not said.cannot_reach(2, 1)


def test_a_node_that_is_cut_off_is_doubted_by_the_others_and_not_the_others_by_it() -> None:
    said = said_by(
        Statement(1, 1, unreachable=(2, 3)),
        Statement(2, 1, unreachable=(1,)),
        Statement(3, 1, unreachable=(1,)),
    )
    assert said.doubters(1) == (2, 3)
    assert said.doubters(2) == said.doubters(3) == ()
    assert said.cannot_reach(1, 2)


def test_two_nodes_that_do_not_reach_each_other_doubt_each_other() -> None:
    said = said_by(Statement(1, 1, unreachable=(2,)), Statement(2, 1, unreachable=(1,)))
    assert said.doubters(1) == (2,)
    assert said.doubters(2) == (1,)


def test_the_smaller_part_of_a_divided_cluster_is_doubted() -> None:
    smaller, larger = (1, 2), (3, 4, 5)
    said = said_by(
        *(Statement(node, 1, unreachable=larger) for node in smaller),
        *(Statement(node, 1, unreachable=smaller) for node in larger),
    )
    assert [node for node in (1, 2, 3, 4, 5) if said.doubters(node)] == [1, 2]
