import pytest
from bench.catalog import GROUPS, chosen


def test_a_group_is_chosen_by_its_name_or_with_all_that_is_under_it() -> None:
    assert chosen("fsync") == ["fsync"]
    assert chosen("queues/fifo,latency") == ["queues/fifo", "latency"]
    assert len(chosen("queues/flat")) == 3
    assert len(chosen("spark")) == 4
    assert len(chosen("compare")) == 5
    assert set(chosen("queues/flat")) < set(chosen("queues")) < set(GROUPS)


def test_nothing_is_chosen_by_half_a_name() -> None:
    with pytest.raises(KeyError, match="queue"):
        chosen("fsync,queue")


def test_nothing_at_all_may_be_chosen() -> None:
    assert chosen("") == []
