from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock
from tests.fakes.queue_cluster import QueueCluster
from tests.fakes.queue_house import QueueHouse

from duolog.adapters.sqlite import SqliteStore


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[QueueCluster]:
    store = await SqliteStore.open(str(tmp_path / "meta.sqlite"), SetClock())
    made = QueueCluster(store)
    await made.start(1, 2, 3)
    yield made
    await made.stop()
    await store.close()


@pytest.fixture
def disk() -> FakeDisk:
    """The disk of the house. A test module that holds syncs back overrides it."""
    return FakeDisk()


@pytest.fixture
def house(tmp_path: Path, disk: FakeDisk) -> Iterator[QueueHouse]:
    """Queues of a node that is alone."""
    made = QueueHouse(str(tmp_path / "meta.sqlite"), disk=disk)
    yield made
    made.close()
