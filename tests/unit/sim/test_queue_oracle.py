"""The oracle of queues notices what is wrong, and nothing else."""

import pytest

from duolog.sim.oracle.queues import QueueOracle
from duolog.sim.oracle.verdict import Verdict


@pytest.fixture
def verdict():
    return Verdict(lambda: 0)


@pytest.fixture
def oracle(verdict):
    """Of a FIFO queue with two messages of a group."""
    made = QueueOracle(verdict, "q.fifo", is_fifo=True)
    for number in range(2):
        made.attempted(f"g:{number}", "g")
        made.sent(f"g:{number}", f"id-{number}")
    return made


def rules(verdict):
    return [violation.strip().split(" ", 1)[1].split(":")[0] for violation in verdict.violations]


def delete(oracle, body, at_ns):
    oracle.deleting(body, oracle.deliveries(body))
    oracle.deleted(body, at_ns)


def test_everything_received_and_deleted_in_order_is_fine(oracle, verdict):
    oracle.received([("g:0", "id-0"), ("g:1", "id-1")], 10)
    delete(oracle, "g:0", 20)
    delete(oracle, "g:1", 30)
    oracle.finish()
    assert verdict.violations == []


def test_a_message_that_is_gone_is_noticed(oracle, verdict):
    oracle.received([("g:0", "id-0")], 10)
    delete(oracle, "g:0", 20)
    oracle.finish()
    assert rules(verdict) == ["nothing acknowledged is lost"]


def test_a_deleted_message_that_comes_back_is_noticed(oracle, verdict):
    oracle.received([("g:0", "id-0")], 10)
    delete(oracle, "g:0", 20)
    oracle.received([("g:0", "id-0")], 15)
    assert verdict.violations == [], "that receive was under way"
    oracle.received([("g:0", "id-0")], 25)
    assert rules(verdict) == ["deleted messages stay deleted"]


def test_a_message_before_its_turn_is_noticed(oracle, verdict):
    oracle.received([("g:1", "id-1")], 10)
    assert rules(verdict) == ["order of groups"]


def test_a_message_that_is_there_twice_is_noticed(oracle, verdict):
    oracle.received([("g:0", "another")], 10)
    assert rules(verdict) == ["deduplication"]


def test_a_deletion_with_a_stale_receipt_does_not_count(oracle, verdict):
    oracle.received([("g:0", "id-0")], 10)
    first = oracle.deliveries("g:0")
    oracle.received([("g:0", "id-0")], 20)
    assert not oracle.deleting("g:0", first)
    assert oracle.left == ["g:0", "g:1"]
