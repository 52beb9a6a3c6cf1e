"""Every batch exactly once."""

import asyncio
from typing import Any

import pytest
from tests.unit.client.kafka_server import HANG_UP, KafkaServer

from duolog.client.cluster import Cluster
from duolog.client.errors import Refused
from duolog.client.produce import produce
from duolog.client.producer import Producer
from duolog.records.builder import build_batch
from duolog.records.compression import ZSTD
from duolog.records.header import BatchHeader, read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey

MESSAGE_TOO_LARGE = 10
NOT_LEADER_OR_FOLLOWER = 6
RECORDS = [Record(b"key", b"value", (), 1_000), Record(None, b"other", (), 1_001)]


class Partitions:
    """Appends what comes, unless told otherwise for the next requests."""

    def __init__(self, server: KafkaServer) -> None:
        self.batches: list[bytes] = []
        self.faults: list[Any] = []
        self._producer_ids = 0
        server.topics = {"orders": 2}
        server.answers[ApiKey.PRODUCE] = self._produce
        server.answers[ApiKey.INIT_PRODUCER_ID] = self._identify

    @property
    def headers(self) -> list[BatchHeader]:
        return [read_header(batch) for batch in self.batches]

    def _identify(self, request: Any) -> dict[str, Any]:
        self._producer_ids += 1
        return {"error_code": 0, "producer_id": self._producer_ids, "producer_epoch": 0}

    def _produce(self, request: Any) -> Any:
        (data,) = request.topic_data[0].partition_data
        self.batches.append(bytes(data.records))
        fault = self.faults.pop(0) if self.faults else 0
        if fault is HANG_UP:
            return HANG_UP
        result = {"index": data.index, "error_code": fault, "base_offset": 40}
        return {
            "responses": [{"name": request.topic_data[0].name, "partition_responses": [result]}]
        }


@pytest.fixture
def partitions(server: KafkaServer) -> Partitions:
    return Partitions(server)


async def test_records_are_sent_as_one_batch(partitions: Partitions, cluster: Cluster) -> None:
    assert await Producer(cluster).send("orders", 1, RECORDS) == 40
    (batch,) = partitions.batches
    records = list(iter_records(batch, decompressed_bytes_max=1_000))
    assert [record.value for record in records] == [b"value", b"other"]
    assert [record.timestamp for record in records] == [1_000, 1_001]


@pytest.mark.parametrize("size", [0, 100, 70_000, 3_000_000])
async def test_a_batch_of_any_size_arrives_as_it_was(
    partitions: Partitions, cluster: Cluster, size: int
) -> None:
    batch = build_batch([Record(value=b"v" * size)])
    answers = await asyncio.gather(*(produce(cluster, "orders", 0, batch) for _ in range(5)))
    assert answers == [40] * 5
    assert partitions.batches == [batch] * 5


async def test_batches_are_compressed_on_request(partitions: Partitions, cluster: Cluster) -> None:
    await Producer(cluster, compression=ZSTD).send("orders", 0, RECORDS)
    assert partitions.headers[0].compression == ZSTD


async def test_sequences_go_on_per_partition(partitions: Partitions, cluster: Cluster) -> None:
    producer = Producer(cluster)
    for partition in (0, 0, 1, 0):
        await producer.send("orders", partition, RECORDS)
    assert [header.base_sequence for header in partitions.headers] == [0, 2, 0, 4]
    assert {header.producer_id for header in partitions.headers} == {1}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", [HANG_UP, NOT_LEADER_OR_FOLLOWER])
async def test_a_batch_is_sent_again_under_the_same_sequence(
    partitions: Partitions, cluster: Cluster, fault: Any
) -> None:
    partitions.faults = [fault]
    producer = Producer(cluster)
    assert await producer.send("orders", 0, RECORDS) == 40
    await producer.send("orders", 0, RECORDS)
    sent = [(header.producer_id, header.base_sequence) for header in partitions.headers]
    assert sent == [(1, 0), (1, 0), (1, 2)]


async def test_after_a_refusal_the_producer_begins_anew(
    partitions: Partitions, cluster: Cluster
) -> None:
    partitions.faults = [0, MESSAGE_TOO_LARGE]
    producer = Producer(cluster)
    await producer.send("orders", 0, RECORDS)
    with pytest.raises(Refused, match="MESSAGE_TOO_LARGE"):
        await producer.send("orders", 0, RECORDS)
    await producer.send("orders", 0, RECORDS)
    sent = [(header.producer_id, header.base_sequence) for header in partitions.headers]
    assert sent == [(1, 0), (1, 2), (2, 0)]


async def test_partitions_do_not_wait_for_each_other(
    partitions: Partitions, cluster: Cluster
) -> None:
    producer = Producer(cluster)
    await asyncio.gather(producer.send("orders", 0, RECORDS), producer.send("orders", 1, RECORDS))
    assert len(partitions.batches) == 2
