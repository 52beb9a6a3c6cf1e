"""What all tests share: modest property tests, and the event loops that a test runs on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop
from hypothesis import settings

settings.register_profile("duolog", max_examples=50, deadline=None)
settings.load_profile("duolog")


TESTS = Path(__file__).parent
TURNS = {"sim": 0, "crash": 1, "cluster": 2, "faults": 3, "clients": 5}
OTHER_TURNS = 4

LoopFactories = dict[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> LoopFactories:
    """One loop is enough, unless a test is marked as being about what loops differ in."""
    loops: LoopFactories = {"asyncio": asyncio.new_event_loop}
    if item.get_closest_marker("every_event_loop"):
        loops["uvloop"] = uvloop.new_event_loop
    return loops


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no worker is left with it alone; what keeps nodes
    running until the end comes last."""
    items.sort(key=lambda item: TURNS.get(item.path.relative_to(TESTS).parts[0], OTHER_TURNS))
