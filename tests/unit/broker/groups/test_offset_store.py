"""The offsets topic on a real broker and disk."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from duolog.adapters.clock import SystemClock
from duolog.adapters.disk import LocalDisk
from duolog.adapters.sqlite import SqliteStore
from duolog.broker.broker import Broker
from duolog.broker.catalog import Catalog
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import Tenure, TopicOffsetStore
from duolog.broker.producer_ids import ProducerIds
from duolog.config.settings import Settings
from duolog.core.groups.ledger import TopicPartition
from duolog.core.groups.messages import CommitRequest, MemberIdentity, OffsetToCommit
from duolog.core.groups.placement import partition_for
from duolog.core.groups.settings import GroupSettings
from duolog.model.names import OFFSETS_TOPIC
from duolog.observe.metrics import Metrics

SETTINGS = GroupSettings(offsets_partitions=3)


@asynccontextmanager
async def running_broker(path: Path) -> AsyncIterator[Broker]:
    clock, disk = SystemClock(), LocalDisk(str(path))
    metadata = await SqliteStore.open(str(path / "metadata.sqlite"), clock)
    broker = Broker(
        disk=disk,
        clock=clock,
        settings=Settings.load(environ={}),
        catalog=Catalog(metadata, 1, new_id=uuid.uuid4),
        producer_ids=ProducerIds(metadata),
        metrics=Metrics(),
        node_id=1,
        cluster_id="cluster",
        on_storage_failure=lambda error: None,
    )
    broker.groups = GroupCoordinator(clock, TopicOffsetStore(broker, SETTINGS), SETTINGS)
    broker.leadership.append(broker.groups)
    await broker.start()
    await broker.groups.start(broker.catalog.topics)
    try:
        yield broker
    finally:
        await broker.groups.stop()
        await broker.stop()
        await metadata.close()
        disk.close()


async def commit(broker: Broker, group_id: str, topic: str, offset: int) -> None:
    await broker.groups.locate(group_id)
    offsets = {TopicPartition(topic, 0): OffsetToCommit(offset, "x" * 1_000)}
    await broker.groups.commit(group_id, CommitRequest(MemberIdentity(""), -1, offsets))


def offset_of(broker: Broker, group_id: str, topic: str) -> int | None:
    group = broker.groups.find(group_id)
    committed = group.ledger.offsets.get(TopicPartition(topic, 0)) if group else None
    return committed.offset if committed else None


async def test_offsets_survive_a_restart(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        await broker.catalog.create_topic("t", 1, {})
        assert OFFSETS_TOPIC not in broker.catalog.topics
        for offset in range(5):
            for number in range(10):
                await commit(broker, f"g{number}", "t", offset)
    async with running_broker(tmp_path) as broker:
        assert broker.catalog.topics[OFFSETS_TOPIC].partitions == 3
        assert [offset_of(broker, f"g{number}", "t") for number in range(10)] == [4] * 10


async def test_the_topic_itself_says_how_many_partitions_it_has(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        store = TopicOffsetStore(broker, SETTINGS)
        assert store.partitions == 3
        await broker.catalog.create_topic(OFFSETS_TOPIC, 5, {"cleanup.policy": "compact"})
        assert store.partitions == 5


async def test_a_commit_larger_than_one_batch_is_split(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        offsets = {
            TopicPartition("t", number): OffsetToCommit(number, "x" * 4_000)
            for number in range(1_000)
        }
        await broker.groups.locate("g")
        await broker.groups.commit("g", CommitRequest(MemberIdentity(""), -1, offsets))
        partition = broker.partition(OFFSETS_TOPIC, partition_for("g", 3))
        assert partition.high_watermark == 1_000
        assert len(list(partition.log.headers(0))) > 1


async def test_damaged_records_cost_the_newest_commits_only(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        await broker.catalog.create_topic("t", 1, {})
        await commit(broker, "g", "t", 1)
        await commit(broker, "g", "t", 2)
        await commit(broker, "g", "u", 3)
        segment = broker.partition(OFFSETS_TOPIC, partition_for("g", 3)).log.segments[0]
        file = segment.file
        positions = [position for position, _ in segment.headers_from(0)]
        file.pwritev([b"\xff" * 8], positions[1] + 100)
        restarted = GroupCoordinator(broker.clock, TopicOffsetStore(broker, SETTINGS), SETTINGS)
        for index in range(3):
            restarted.begin(Tenure(index, 0))
        await restarted.start({"t", "u"})
        group = restarted.get("g")
        assert group.ledger.offsets[TopicPartition("t", 0)].offset == 1
        assert group.ledger.offsets[TopicPartition("u", 0)].offset == 3
        await restarted.stop()
