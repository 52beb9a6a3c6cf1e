"""Whole clusters under all faults: nothing that was promised is broken."""

import os

import pytest
from tests.sim.simulator import simulate

from duolog.sim.faults.schedule import KINDS

SEEDS = os.environ.get("DUOLOG_SIM_SEEDS", "8")
SPEED_UP_MIN = 10
"""Half of what a quiet machine reaches: this is about being out of order, not about noise."""
ON_ONE_NODE = [kind for kind in KINDS if kind not in ("flipped-bit", "wiped-disk")]
"""What a node alone survives: all but the loss of what is on its disk."""

pytestmark = pytest.mark.timeout(1_800)


def test_clusters_of_three_keep_their_promises(capsys):
    report = simulate("--seeds", SEEDS)
    with capsys.disabled():
        print(f"\n{report.text.splitlines()[-1]}")
    assert report.code == 0, report.text
    assert min(report.faults) >= 20
    assert report.speed_up >= SPEED_UP_MIN


def test_a_node_alone_keeps_its_promises(capsys):
    report = simulate("--seeds", "10", "--nodes", "1", "--faults", *ON_ONE_NODE)
    with capsys.disabled():
        print(f"\n{report.text.splitlines()[-1]}")
    assert report.code == 0, report.text


def test_a_seed_replays_identically():
    one, other = (simulate("--seeds", "4", "--first", "4") for _ in range(2))
    assert len(one.traces) == 4
    assert one.traces == other.traces


def test_a_failure_prints_the_command_that_replays_it():
    report = simulate("--seeds", "1", "--nodes", "1", "--loads", "topics", "--faults", "wiped-disk")
    assert report.code == 1
    assert "replay: " in report.text
    assert "--seeds 1 --first 1 --nodes 1 --faults wiped-disk --loads topics --story" in report.text
