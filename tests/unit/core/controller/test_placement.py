from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.placement import place
from duolog.model.errors import InvalidReplicationFactor


def nodes(count: int, racks: int = 0):
    return [
        live_node(node, rack=f"rack-{node % racks}" if racks else "")
        for node in range(1, count + 1)
    ]


def test_leaders_and_replicas_are_spread_evenly() -> None:
    places = place(30, 3, nodes(5), {}, start=0)
    leaders = Counter(replicas[0] for replicas in places)
    held = Counter(node for replicas in places for node in replicas)
    assert set(leaders.values()) == {6}
    assert max(held.values()) - min(held.values()) <= 2


def test_what_a_node_led_does_not_all_fall_to_one_neighbour() -> None:
    places = place(40, 2, nodes(5), {}, start=0)
    successors = Counter(replicas[1] for replicas in places if replicas[0] == 1)
    assert sorted(successors) == [2, 3, 4, 5]
    assert max(successors.values()) <= 3


def test_topics_of_one_partition_begin_on_different_nodes() -> None:
    first = {place(1, 1, nodes(3), {}, start=start)[0] for start in range(3)}
    assert first == {(1,), (2,), (3,)}


def test_a_node_that_holds_less_gets_more() -> None:
    places = place(6, 2, nodes(4), {1: 50, 2: 50, 3: 50, 4: 0}, start=0)
    assert all(4 in replicas for replicas in places)


def test_a_node_that_drains_gets_nothing_unless_it_is_needed() -> None:
    three = [live_node(1), live_node(2), live_node(3, draining=True)]
    assert all(3 not in replicas for replicas in place(9, 2, three, {}, start=0))
    assert all(3 in replicas for replicas in place(9, 3, three, {}, start=0))


def test_a_node_that_the_others_cannot_reach_gets_nothing_unless_it_is_needed() -> None:
    places = place(9, 2, nodes(3), {}, start=0, avoided=[2])
    assert all(2 not in replicas for replicas in places)
    places = place(9, 3, nodes(3), {}, start=0, avoided=[2])
    assert all(2 in replicas[1:] for replicas in places)


@pytest.mark.parametrize("factor", [0, 4])
def test_a_factor_that_cannot_be_had_is_refused(factor: int) -> None:
    with pytest.raises(InvalidReplicationFactor, match="3 are alive"):
        place(1, factor, nodes(3), {}, start=0)


machines = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("pqrst")), min_size=1, max_size=8
)


@given(machines, st.integers(1, 4), st.integers(1, 12), st.integers(0, 100), st.data())
def test_no_two_replicas_share_a_host_or_rack_where_it_can_be_avoided(
    machines: list[tuple[str, str]], factor: int, partitions: int, start: int, data: st.DataObject
) -> None:
    """A host is in one rack, so it is named by both."""
    live = [
        live_node(node, rack=rack, host=f"{rack}.{host}")
        for node, (rack, host) in enumerate(machines, 1)
    ]
    factor = min(factor, len(live))
    load = {node.id: data.draw(st.integers(0, 20)) for node in live}
    of = {node.id: node.registration for node in live}
    places = place(partitions, factor, live, load, start=start)
    assert places == place(partitions, factor, live[::-1], load, start=start)
    hosts = len({registration.host for registration in of.values()})
    racks = len({registration.rack for registration in of.values()})
    for replicas in places:
        assert len(set(replicas)) == factor
        assert len({of[node].host for node in replicas}) == min(factor, hosts)
        if racks >= factor:
            assert len({of[node].rack for node in replicas}) == factor
