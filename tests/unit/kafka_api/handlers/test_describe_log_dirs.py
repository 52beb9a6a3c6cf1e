import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import APIS, ApiKey


@pytest.fixture
def flags():
    return {"data.dir": "/var/lib/duolog"}


@pytest.fixture(autouse=True)
async def topics(broker):
    await broker.catalog.create_topic("orders", 2, {})
    await broker.catalog.create_topic("bills", 1, {})
    broker.partition("orders", 1).log.size_bytes = 99


async def describe(broker, topics, version=None):
    response = await broker.call(ApiKey.DESCRIBE_LOG_DIRS, version, topics=topics)
    (directory,) = response.results
    assert directory.error_code == ErrorCode.none
    return directory


def sizes(directory):
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in directory.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, APIS[ApiKey.DESCRIBE_LOG_DIRS].max_version + 1))
async def test_every_partition_is_described_at_every_version(broker, version):
    directory = await describe(broker, None, version)
    assert directory.log_dir == "/var/lib/duolog"
    assert sizes(directory) == {("orders", 0): 0, ("orders", 1): 99, ("bills", 0): 0}
    if version >= 4:
        assert directory.usable_bytes == 12_345


class TestRelative:
    @pytest.fixture
    def flags(self):
        return {"data.dir": "./data"}

    async def test_the_directory_is_named_from_the_root_on(self, broker, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        assert (await describe(broker, None)).log_dir == str(tmp_path / "data")


async def test_only_the_named_partitions_that_are_here_are_described(broker):
    directory = await describe(
        broker,
        [{"topic": "orders", "partitions": [1, 7]}, {"topic": "nothing", "partitions": [0]}],
    )
    assert sizes(directory) == {("orders", 1): 99}
