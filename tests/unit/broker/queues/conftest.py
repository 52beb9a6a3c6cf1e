from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.fakes.group_shell import SetClock
from tests.fakes.queue_cluster import QueueCluster

from duolog.adapters.sqlite import SqliteStore


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[QueueCluster]:
    store = await SqliteStore.open(str(tmp_path / "meta.sqlite"), SetClock())
    made = QueueCluster(store)
    await made.start(1, 2, 3)
    yield made
    await made.stop()
    await store.close()
