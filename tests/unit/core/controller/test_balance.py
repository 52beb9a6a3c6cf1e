import msgspec
from tests.fakes.cluster_image import ORDERS, image_of, record_of, state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.autoscale import HOT_LOAD, HOT_LOOKS, IDLE_LOOKS, Autoscale
from duolog.core.controller.draining import leaders_moved_away, replicas_moved_away
from duolog.core.controller.image import ClusterImage
from duolog.core.controller.load_balance import MOVES_PER_MINUTE_MAX, LoadBalance
from duolog.core.controller.preferred import PreferredLeaders
from duolog.core.controller.spreading import spreading_moves
from duolog.core.controller.upkeep import Upkeep
from duolog.model.limits import REBALANCE_AWAITED_MS_MAX
from duolog.model.load import LoadReport, PartitionLoad
from duolog.model.names import OFFSETS_TOPIC
from duolog.model.statement import Statement


def preferred_moves(image, now_ms):
    return PreferredLeaders().moves(image, now_ms)


MIB = float(1 << 20)


def states_of(decisions):
    return [change.state for decision in decisions for change in decision.changes]


def report(node: int, *partitions: tuple[int, float], lag_ms: float = 0.0) -> LoadReport:
    loads = tuple(PartitionLoad(ORDERS, index, rate, 0.0) for index, rate in partitions)
    total = sum(rate for _, rate in partitions)
    return LoadReport(node, bytes_in_per_s=total, loop_lag_p99_ms=lag_ms, partitions=loads)


def test_a_leader_goes_back_to_where_it_is_preferred() -> None:
    (new,) = states_of(preferred_moves(image_of(state(2, (2, 1))), 0))
    assert (new.leader, new.leader_epoch, new.in_sync) == (1, 6, (2, 1))


def rebalancing(*partitions: int, epoch: int = 1, name: str = OFFSETS_TOPIC) -> ClusterImage:
    """Node 1 is back; node 2 leads two partitions, and says that groups of some rebalance."""
    said = {2: Statement(2, epoch, rebalancing=partitions)}
    return image_of(state(2, (2, 1)), state(2, (2, 1)), statements=said, name=name)


def moved(moves: PreferredLeaders, image: ClusterImage, now_ms: int) -> list[int]:
    return [
        change.partition.index
        for decision in moves.moves(image, now_ms)
        for change in decision.changes
    ]


def test_a_partition_whose_groups_rebalance_goes_back_afterwards() -> None:
    moves = PreferredLeaders()
    assert moved(moves, rebalancing(0), 0) == [1]
    assert moved(moves, rebalancing(0), 30_000) == [1]
    assert moved(moves, rebalancing(), 31_000) == [0, 1]


def test_rebalances_hold_a_leader_up_for_a_limited_time() -> None:
    moves = PreferredLeaders()
    assert moved(moves, rebalancing(0, 1), 0) == []
    assert moved(moves, rebalancing(0), 30_000) == [1]
    assert moved(moves, rebalancing(0, 1), REBALANCE_AWAITED_MS_MAX) == [0]
    # A later return is held up anew.
    assert moved(moves, rebalancing(), REBALANCE_AWAITED_MS_MAX + 1) == [0, 1]
    assert moved(moves, rebalancing(0, 1), REBALANCE_AWAITED_MS_MAX + 2) == []


def test_a_clock_that_was_set_back_holds_nothing_up_for_longer() -> None:
    moves = PreferredLeaders()
    assert moved(moves, rebalancing(0, 1), 1_000_000) == []
    assert moved(moves, rebalancing(0, 1), 5) == [0, 1]


def test_only_a_fresh_statement_about_groups_holds_a_leader_up() -> None:
    assert moved(PreferredLeaders(), rebalancing(0, epoch=0), 0) == [0, 1]
    assert moved(PreferredLeaders(), rebalancing(0, name="orders"), 0) == [0, 1]


def test_a_preferred_leader_that_is_not_in_sync_waits() -> None:
    assert preferred_moves(image_of(state(2, (2, 3))), 0) == []


def test_companions_go_back_together() -> None:
    image = image_of(state(2, (2, 1)), state(2, (2, 1)), companion=True)
    (decision,) = preferred_moves(image, 0)
    assert [change.state.leader for change in decision.changes] == [1, 1]
    image = image_of(state(2, (2, 1)), state(2, (2, 3)), companion=True)
    assert preferred_moves(image, 0) == []


def test_a_node_that_drains_leads_nothing() -> None:
    live = (live_node(1, draining=True), live_node(2), live_node(3))
    (new,) = states_of(leaders_moved_away(image_of(state(1, (1, 2, 3)), live=live), 0))
    assert new.leader == 2
    assert preferred_moves(image_of(state(2, (1, 2, 3)), live=live), 0) == []


def test_a_node_that_drains_keeps_what_nobody_else_could_lead() -> None:
    live = (live_node(1, draining=True), live_node(2), live_node(3))
    assert leaders_moved_away(image_of(state(1, (1,)), live=live), 0) == []


def test_the_replicas_of_a_node_that_drains_go_where_there_is_room() -> None:
    live = (live_node(1, draining=True), *(live_node(node) for node in (2, 3, 4)))
    (new,) = states_of(replicas_moved_away(image_of(state(2, (1, 2, 3)), live=live), 0))
    assert (new.replicas, new.adding, new.removing) == ((4, 2, 3, 1), (4,), (1,))
    assert replicas_moved_away(image_of(state(2, (1, 2, 3)), live=live[:3]), 0) == []


def test_so_do_those_of_one_that_drains_and_is_gone() -> None:
    live = tuple(live_node(node) for node in (2, 3, 4))
    records = {each.id: record_of(each) for each in (live_node(1, draining=True), *live)}
    image = image_of(state(2, (2, 3)), live=live, records=records)
    (new,) = states_of(replicas_moved_away(image, 0))
    assert target(new) == (4, 2, 3)


def target(new):
    return tuple(node for node in new.replicas if node not in new.removing)


def busy_image(loads):
    return image_of(state(1, (1, 2, 3)), state(1, (1, 2, 3)), state(2, (1, 2, 3)), loads=loads)


def test_a_leader_moves_off_an_overloaded_node_for_good() -> None:
    loads = {1: report(1, (0, 30 * MIB), (1, 20 * MIB)), 2: report(2, (2, 5 * MIB)), 3: report(3)}
    (new,) = states_of(LoadBalance().moves(busy_image(loads), 0))
    assert (new.leader, new.replicas) == (3, (3, 1, 2)), "or the preferred one got it back"


def test_nobody_is_moved_where_all_do_little_or_much_the_same() -> None:
    little = {1: report(1, (0, 900.0)), 2: report(2), 3: report(3)}
    assert LoadBalance().moves(busy_image(little), 0) == []
    alike = {
        1: report(1, (0, 12 * MIB)),
        2: report(2, (2, 10 * MIB)),
        3: report(3, (1, 10 * MIB)),
    }
    assert LoadBalance().moves(busy_image(alike), 0) == []


def test_a_single_hot_partition_is_not_passed_around() -> None:
    loads = {1: report(1, (0, 30 * MIB)), 2: report(2), 3: report(3)}
    balance = LoadBalance()
    assert balance.moves(busy_image(loads), 0) == []


def test_a_node_whose_loop_is_late_is_relieved_sooner() -> None:
    def loads(lag_ms):
        return {
            1: report(1, (0, 3 * MIB), (1, 10 * MIB), lag_ms=lag_ms),
            2: report(2, (2, 9 * MIB)),
            3: report(3),
        }

    even = {**loads(0), 3: LoadReport(3, bytes_in_per_s=9 * MIB)}
    late = {**loads(80), 3: LoadReport(3, bytes_in_per_s=9 * MIB)}
    assert LoadBalance().moves(busy_image(even), 0) == []
    assert len(LoadBalance().moves(busy_image(late), 0)) == 1


def test_a_move_is_not_repeated_before_its_effect_can_be_seen() -> None:
    """Another look at the same figures would move ever more away from the same node."""
    loads = {1: report(1, (0, 30 * MIB), (1, 30 * MIB)), 2: report(2), 3: report(3)}
    balance = LoadBalance()
    assert len(balance.moves(busy_image(loads), 0)) == 1
    assert balance.moves(busy_image(loads), 1_000) == []


def test_moves_are_bounded_by_the_minute() -> None:
    many = [state(1, (1, 2, 3))] * 40
    loads = {1: report(1, *((index, 2 * MIB) for index in range(40))), 2: report(2), 3: report(3)}
    balance = LoadBalance()
    image = image_of(*many, loads=loads)
    assert len(balance.moves(image, 1_000)) == MOVES_PER_MINUTE_MAX
    assert balance.moves(image, 30_000) == []
    assert len(balance.moves(image, 61_001)) == MOVES_PER_MINUTE_MAX


def test_a_new_node_gets_replicas_and_leaders() -> None:
    live = tuple(live_node(node) for node in (1, 2, 3, 4))
    image = image_of(*[state(1, (1, 2, 3))] * 12, live=live)
    moves = states_of(spreading_moves(image, 0))
    assert len(moves) == 5
    assert all(new.adding == (4,) for new in moves)
    assert any(new.replicas[0] == 4 for new in moves)


def test_what_is_spread_evenly_is_left_alone() -> None:
    image = image_of(state(1, (1, 2, 3)), state(2, (1, 2, 3)), state(3, (1, 2, 3)))
    assert spreading_moves(image, 0) == []


def test_a_hot_topic_grows_up_to_its_limit() -> None:
    loads = {1: report(1, (0, 2 * HOT_LOAD))}
    autoscale = Autoscale()
    image = image_of(state(1, (1, 2, 3)), loads=loads, autoscale_partitions_max=3)
    for _ in range(HOT_LOOKS - 1):
        assert autoscale.scalings(image, 0) == []
    (scaling,) = autoscale.scalings(image, 0)
    assert (scaling.topic.name, scaling.partitions) == ("orders", 2)
    full = image_of(state(1, (1, 2, 3)), loads=loads, autoscale_partitions_max=1)
    for _ in range(2 * HOT_LOOKS):
        assert autoscale.scalings(full, 0) == []


def test_an_idle_standard_queue_shrinks_and_nothing_else_does() -> None:
    for kind, shrinks in (("standard queue", True), ("fifo queue", False), ("topic", False)):
        autoscale = Autoscale()
        image = image_of(*[state(1, (1, 2, 3))] * 4, kind=kind, autoscale_partitions_max=8)
        found = [autoscale.scalings(image, 0) for _ in range(IDLE_LOOKS)][-1]
        assert [scaling.partitions for scaling in found] == ([2] if shrinks else [])


def test_a_hot_queue_uses_the_partitions_that_it_has_before_it_gets_more() -> None:
    loads = {1: report(1, (0, 4 * HOT_LOAD))}
    for kind, open_limit, wanted in (
        ("standard queue", 1, [2]),
        ("standard queue", 3, [4]),
        ("standard queue", None, []),
        ("fifo queue", 1, []),
    ):
        image = image_of(
            *[state(1, (1, 2, 3))] * 4,
            kind=kind,
            loads=loads,
            autoscale_partitions_max=4,
            open_limit=open_limit,
        )
        autoscale = Autoscale()
        found = [autoscale.scalings(image, 0) for _ in range(HOT_LOOKS)][-1]
        assert [scaling.partitions for scaling in found] == wanted


def test_balance_waits_for_its_interval_and_draining_does_not() -> None:
    upkeep = Upkeep(30_000, now_ms=0)
    away = image_of(state(2, (2, 1)))
    assert upkeep.decisions(away, 29_999) == []
    assert len(upkeep.decisions(away, 30_000)) == 1
    live = (live_node(1, draining=True), live_node(2), live_node(3))
    assert len(upkeep.decisions(image_of(state(1, (1, 2, 3)), live=live), 30_001)) == 1


def test_a_partition_without_a_leader_is_no_business_of_balance() -> None:
    lost = msgspec.structs.replace(state(-1, (2, 1)))
    assert preferred_moves(image_of(lost), 0) == []
