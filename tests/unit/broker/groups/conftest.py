from collections.abc import AsyncIterator

import pytest
from tests.fakes.group_shell import MemoryOffsetStore, SetClock, new_coordinator

from duolog.broker.groups.coordinator import GroupCoordinator

TOPICS = {"t", "u"}


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def store() -> MemoryOffsetStore:
    return MemoryOffsetStore()


@pytest.fixture
async def coordinator(store: MemoryOffsetStore, clock: SetClock) -> AsyncIterator[GroupCoordinator]:
    coordinator = new_coordinator(store, clock)
    await coordinator.start(TOPICS)
    yield coordinator
    await coordinator.stop()
