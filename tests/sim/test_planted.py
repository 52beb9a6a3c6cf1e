"""Each planted mistake is found, and so is how soon."""

import pytest
from tests.sim.simulator import simulate

from duolog.sim.planted.planting import PLANTED, planted

SEEDS_MAX = 12

ON_ONE_NODE = [name for name, mistake in PLANTED.items() if mistake.loads == ("queues",)]

pytestmark = pytest.mark.timeout(900)


def test_there_are_enough_of_them():
    assert len(PLANTED) >= 15


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name, capsys):
    nodes = "1" if name in ON_ONE_NODE else "3"
    report = simulate(
        *("--planted", name, "--seeds", str(SEEDS_MAX), "--nodes", nodes, "--until-found")
    )
    assert report.code == 1, f"{PLANTED[name].rule} {SEEDS_MAX} seeds did not notice."
    with capsys.disabled():
        print(f"\n{name}: noticed after {len(report.traces)} seeds")


@pytest.mark.parametrize("name", PLANTED)
def test_a_mistake_is_taken_out_again(name):
    before = [vars(each.owner)[each.name] for each in PLANTED[name].replacements]
    with planted(name):
        during = [vars(each.owner)[each.name] for each in PLANTED[name].replacements]
    after = [vars(each.owner)[each.name] for each in PLANTED[name].replacements]
    assert before == after
    assert all(old is not new for old, new in zip(before, during, strict=True))
