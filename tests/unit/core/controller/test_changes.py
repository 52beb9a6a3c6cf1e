import uuid

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.cluster_image import state
from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.changes import Change, Decision, batches
from duolog.core.controller.image import PartitionId

MOST = 128


def decision(number: int, size: int, elected: int | None) -> Decision:
    changes = tuple(
        Change(PartitionId(uuid.UUID(int=number), index), 1, state(1, (1,)))
        for index in range(size)
    )
    return Decision(changes, () if elected is None else (live_node(elected),))


@given(st.lists(st.tuples(st.integers(1, 40), st.none() | st.integers(1, 9)), max_size=60))
def test_batches_fit_and_keep_groups_whole(sizes: list[tuple[int, int | None]]) -> None:
    decisions = [decision(number, *each) for number, each in enumerate(sizes)]
    packed = batches(decisions, MOST)
    assert [change for batch in packed for change in batch.changes] == [
        change for each in decisions for change in each.changes
    ]
    for batch in packed:
        assert 1 + len(batch.changes) + len(batch.elected) <= MOST
        assert len({node.id for node in batch.elected}) == len(batch.elected)
    for each in decisions:
        holding = [batch for batch in packed if set(batch.changes) & set(each.changes)]
        assert len(holding) == 1
        assert set(each.elected) <= set(holding[0].elected)


def test_a_hundred_elections_are_one_transaction() -> None:
    assert len(batches([decision(n, 1, 2 + n % 2) for n in range(100)], MOST)) == 1


def test_a_group_that_is_too_large_is_divided() -> None:
    packed = batches([decision(1, 300, 2)], MOST)
    assert [len(batch.changes) for batch in packed] == [126, 126, 48]
    assert all(batch.elected == (live_node(2),) for batch in packed)
