"""What all tests share: modest property tests, and the event loops that a test runs on."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop
from hypothesis import settings

settings.register_profile("duolog", max_examples=50, deadline=None)
settings.load_profile("duolog")


LoopFactories = dict[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> LoopFactories:
    """One loop is enough, unless a test is marked as being about what loops differ in."""
    loops: LoopFactories = {"asyncio": asyncio.new_event_loop}
    if item.get_closest_marker("every_event_loop"):
        loops["uvloop"] = uvloop.new_event_loop
    return loops
