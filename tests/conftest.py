"""What all tests share: modest property tests, and the event loops that a test runs on."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import settings

settings.register_profile("duolog", max_examples=50, deadline=None)
settings.load_profile("duolog")


TESTS = Path(__file__).parent
SPARK_TESTS = "tests/spark/"
TURNS = {"sim": 0, "crash": 1, "cluster": 2, "faults": 3, "spark": 4, "clients": 6}
OTHER_TURNS = 5
STATE_MACHINE = "runTest"
"""What a state machine of Hypothesis is called as a test."""

LoopFactories = dict[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> LoopFactories:
    """One loop is enough, unless a test is marked as being about what loops differ in."""
    loops: LoopFactories = {"asyncio": asyncio.new_event_loop}
    if item.get_closest_marker("every_event_loop"):
        loops["uvloop"] = uvloop.new_event_loop
    return loops


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """What takes long begins first, so that no worker is left with it alone; what keeps nodes
    running until the end comes last. What Hypothesis makes examples for is `thorough`."""
    for item in items:
        if item.name == STATE_MACHINE or getattr(item.obj, "is_hypothesis_test", False):
            item.add_marker("thorough")
    items.sort(key=lambda item: TURNS.get(item.path.relative_to(TESTS).parts[0], OTHER_TURNS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """All tests with Spark go to one process, whatever file they are in: a session is costly."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class SparkTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return SPARK_TESTS if scope.startswith(SPARK_TESTS) else scope

    return SparkTogether(config, log)
