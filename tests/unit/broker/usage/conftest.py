from collections.abc import AsyncIterator

import pytest
from tests.fakes.group_shell import SetClock
from tests.unit.broker.usage.workbench import UsageBench

from duolog.adapters.sqlite import SqliteStore


@pytest.fixture
async def bench() -> AsyncIterator[UsageBench]:
    store = await SqliteStore.open(":memory:", SetClock())
    yield await UsageBench(store).start()
    await store.close()
