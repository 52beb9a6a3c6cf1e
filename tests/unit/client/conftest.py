from collections.abc import AsyncIterator

import pytest
from tests.unit.client.http_server import RawHttpServer
from tests.unit.client.kafka_server import KafkaServer

from duolog.client.cluster import Cluster


@pytest.fixture
async def server() -> AsyncIterator[KafkaServer]:
    server = KafkaServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def cluster(server: KafkaServer) -> AsyncIterator[Cluster]:
    async with Cluster(server.endpoint) as cluster:
        yield cluster


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other at once."""
    for module in ("cluster", "consumer", "producer"):
        monkeypatch.setattr(f"duolog.client.{module}.RETRY_PAUSES_SECONDS", (0.0,) * 3)


@pytest.fixture
async def http_server() -> AsyncIterator[RawHttpServer]:
    server = RawHttpServer()
    await server.start()
    yield server
    await server.stop()
