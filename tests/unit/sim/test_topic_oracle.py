"""The oracle of topics notices what is wrong, and nothing else."""

import pytest

from duolog.sim.oracle.groups import GroupOracle
from duolog.sim.oracle.topics import TopicOracle
from duolog.sim.oracle.verdict import Verdict


@pytest.fixture
def verdict():
    return Verdict(lambda: 0)


@pytest.fixture
def oracle(verdict):
    made = TopicOracle(verdict)
    made.attempted("t", 0, "p", ["p:1", "p:2", "p:3"])
    made.acknowledged("t", 0, 5, ["p:1", "p:2"])
    return made


def rules(verdict):
    return [violation.strip().split(" ", 1)[1].split(":")[0] for violation in verdict.violations]


def test_what_was_not_acknowledged_may_be_there_or_not(oracle, verdict):
    oracle.finish("t", 0, [(5, "p:1"), (6, "p:2")])
    oracle.finish("t", 0, [(5, "p:1"), (6, "p:2"), (7, "p:3")])
    assert verdict.violations == []


def test_a_lost_record_is_noticed(oracle, verdict):
    oracle.finish("t", 0, [(5, "p:1")])
    assert rules(verdict) == ["nothing acknowledged is lost"]


def test_a_record_at_another_offset_is_noticed(oracle, verdict):
    oracle.finish("t", 0, [(5, "p:1"), (8, "p:2")])
    assert rules(verdict) == ["nothing acknowledged is lost"]


def test_a_duplicate_is_noticed(oracle, verdict):
    oracle.finish("t", 0, [(5, "p:1"), (6, "p:2"), (7, "p:2")])
    assert rules(verdict) == ["no duplicates"]


def test_a_wrong_order_is_noticed(oracle, verdict):
    oracle.finish("t", 0, [(4, "p:3"), (5, "p:1"), (6, "p:2")])
    assert set(rules(verdict)) == {"order"}


def test_a_record_that_nobody_sent_is_noticed(oracle, verdict):
    oracle.finish("t", 0, [(5, "p:1"), (6, "p:2"), (7, "x")])
    assert rules(verdict) == ["no inventions"]


def test_a_record_that_changes_under_its_readers_is_noticed(oracle, verdict):
    oracle.read("t", 0, 7, [(7, "p:3")], 8)
    oracle.read("t", 0, 7, [(7, "p:4")], 8)
    assert rules(verdict) == ["committed records stay"]


def test_a_record_past_the_watermark_is_noticed(oracle, verdict):
    oracle.read("t", 0, 7, [(7, "p:3")], 7)
    assert rules(verdict) == ["high watermark"]


def test_offsets_that_go_back_are_noticed(verdict):
    oracle = GroupOracle(verdict)
    oracle.acknowledged(0, 10, at_ns=100)
    oracle.fetched(0, 10, asked_ns=200, at_ns=210)
    oracle.fetched(0, 9, asked_ns=50, at_ns=210)
    assert verdict.violations == [], "that was asked before the commit was acknowledged"
    oracle.fetched(0, 9, asked_ns=200, at_ns=220)
    assert rules(verdict) == ["committed offsets never go back"]


def test_an_offset_that_was_seen_counts_as_committed(verdict):
    oracle = GroupOracle(verdict)
    oracle.fetched(0, 10, asked_ns=100, at_ns=110)
    oracle.fetched(0, 9, asked_ns=200, at_ns=210)
    assert rules(verdict) == ["committed offsets never go back"]
