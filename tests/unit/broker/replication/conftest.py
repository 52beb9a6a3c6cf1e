from collections.abc import AsyncIterator

import pytest
from tests.fakes.group_shell import SetClock
from tests.fakes.replicas import House

from duolog.adapters.sqlite import SqliteStore


@pytest.fixture
async def house() -> AsyncIterator[House]:
    store = await SqliteStore.open(":memory:", SetClock())
    house = House(store)
    yield house
    await house.stop()
    await store.close()
