from duolog_pipelines.load.advice import (
    GROWTH_MAX,
    MOVES_MAX,
    Limits,
    NodeState,
    PartitionLoad,
    additions,
    moves,
)

LIMITS = Limits(partition_bytes_per_second=1_000, partitions_max=50)
THREE = {number: NodeState(f"host-{number}", "") for number in (1, 2, 3)}


def load(
    topic: str, partition: int, *replicas: int, rate: float = 0.0, stored: int = 0
) -> PartitionLoad:
    return PartitionLoad(topic, partition, replicas, rate, stored)


def test_a_topic_gets_as_many_partitions_as_its_load_needs() -> None:
    loads = [load("busy", 0, 1, rate=1_500), load("busy", 1, 1, rate=1_000), load("idle", 0, 1)]
    (found,) = additions(loads, {}, LIMITS)
    assert (found.topic, found.partitions) == ("busy", 3)


def test_a_topic_does_not_grow_without_bounds_at_once() -> None:
    (found,) = additions([load("busy", 0, 1, rate=10**9)], {}, LIMITS)
    assert found.partitions == GROWTH_MAX
    many = [load("busy", number, 1, rate=10**9) for number in range(40)]
    (found,) = additions(many, {}, LIMITS)
    assert found.partitions == LIMITS.partitions_max


def test_partitions_do_not_help_against_one_hot_key() -> None:
    loads = [load("busy", 0, 1, rate=3_000)]
    assert additions(loads, {"busy": 0.9}, LIMITS) == []


def test_a_fifo_queue_keeps_its_partitions() -> None:
    assert additions([load("busy.fifo", 0, 1, rate=9_000)], {}, LIMITS) == []


def test_partitions_move_from_the_fullest_node_to_the_emptiest() -> None:
    loads = [load("a", number, 1, 2, stored=100, rate=1) for number in range(6)]
    found = moves(loads, THREE)
    assert 0 < len(found) <= 6
    carried = dict.fromkeys(THREE, 0)
    by_partition = {each.partition: each.replicas for each in found}
    for each in loads:
        replicas = by_partition.get(each.partition, list(each.replicas))
        assert len(set(replicas)) == 2
        for node in replicas:
            carried[node] += 1
    assert set(carried.values()) == {4}


def test_nothing_moves_where_all_carry_about_the_same() -> None:
    loads = [load("a", number, 1 + number % 3, stored=100) for number in range(9)]
    assert moves(loads, THREE) == []
    assert moves([load("a", 0, 1, stored=100)], {1: THREE[1]}) == []
    assert moves([], THREE) == []


def test_a_partition_that_is_all_the_load_is_not_moved_to_and_fro() -> None:
    assert moves([load("a", 0, 1, stored=100)], THREE) == []


def test_no_copy_goes_to_the_host_or_rack_of_another() -> None:
    nodes = {
        1: NodeState("one", "east"),
        2: NodeState("two", "west"),
        3: NodeState("three", "west"),
    }
    loads = [load("a", number, 1, 2, stored=100) for number in range(6)]
    found = moves(loads, nodes)
    assert found
    # Node 2 gives to node 3, in whose rack it is, and node 1 to nobody.
    assert all(each.replicas == [1, 3] for each in found)


def test_only_so_much_is_moved_at_once() -> None:
    loads = [load("a", number, 1, stored=100) for number in range(200)]
    assert len(moves(loads, THREE)) == MOVES_MAX
