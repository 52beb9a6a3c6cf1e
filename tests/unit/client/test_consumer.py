"""Reading ranges: all of them, nothing else, and nothing twice."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.kafka_server import KafkaServer

from duolog.client.cluster import Cluster
from duolog.client.consumer import Span, consume, whole_batches
from duolog.client.errors import Garbled, Refused
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey

NOT_LEADER_OR_FOLLOWER = 6
OFFSET_OUT_OF_RANGE = 1


def batch(first_offset: int, count: int, **more: Any) -> bytes:
    records = [Record(value=b"%d" % (first_offset + at)) for at in range(count)]
    return bytes(build_batch(records, base_offset=first_offset, **more))


class Logs:
    """Partitions as lists of batches; a fetch gets one batch of each."""

    def __init__(self, server: KafkaServer, partitions: int) -> None:
        self.batches: dict[int, list[bytes]] = {index: [] for index in range(partitions)}
        self.faults: list[int] = []
        self.tail = b""
        server.topics = {"orders": partitions}
        server.answers[ApiKey.FETCH] = self._fetch

    def _fetch(self, request: Any) -> dict[str, Any]:
        code = self.faults.pop(0) if self.faults else 0
        partitions = [
            {
                "partition_index": each.partition,
                "error_code": code,
                "high_watermark": 100,
                "records": None
                if code
                else next(self._from(each.partition, each.fetch_offset), b"") + self.tail,
            }
            for each in request.topics[0].partitions
        ]
        return {"responses": [{"topic": "orders", "partitions": partitions}]}

    def _from(self, partition: int, offset: int) -> Iterator[bytes]:
        return (each for each in self.batches[partition] if read_header(each).next_offset > offset)


async def read(cluster: Cluster, *spans: Span) -> list[tuple[int, int | None]]:
    return [
        (chunk.partition, record.offset)
        async for chunk in consume(cluster, "orders", spans)
        for record in chunk.records
    ]


async def test_a_span_is_read_to_its_end_and_no_further(
    server: KafkaServer, cluster: Cluster
) -> None:
    logs = Logs(server, 1)
    logs.batches[0] = [batch(0, 5), batch(5, 5), batch(10, 5)]
    assert await read(cluster, Span(0, 3, 12)) == [(0, offset) for offset in range(3, 12)]
    assert len(server.asked(ApiKey.FETCH)) == 3


async def test_an_empty_span_asks_for_nothing(server: KafkaServer, cluster: Cluster) -> None:
    Logs(server, 1)
    assert await read(cluster, Span(0, 5, 5)) == []
    assert server.asked(ApiKey.FETCH) == []


async def test_partitions_are_read_together(server: KafkaServer, cluster: Cluster) -> None:
    logs = Logs(server, 2)
    logs.batches = {0: [batch(0, 2)], 1: [batch(0, 1), batch(1, 1)]}
    read_offsets = await read(cluster, Span(0, 0, 2), Span(1, 0, 2))
    assert sorted(read_offsets) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(server.asked(ApiKey.FETCH)) == 2


async def test_offsets_that_compaction_took_are_passed_over(
    server: KafkaServer, cluster: Cluster
) -> None:
    logs = Logs(server, 1)
    logs.batches[0] = [batch(0, 2, last_offset_delta=7), batch(8, 0, last_offset_delta=3)]
    assert await read(cluster, Span(0, 0, 12)) == [(0, 0), (0, 1)]


async def test_control_batches_are_no_records(server: KafkaServer, cluster: Cluster) -> None:
    logs = Logs(server, 1)
    logs.batches[0] = [batch(0, 1, control=True), batch(1, 1)]
    assert await read(cluster, Span(0, 0, 2)) == [(0, 1)]


async def test_a_torn_batch_at_the_end_of_an_answer_is_asked_for_again(
    server: KafkaServer, cluster: Cluster
) -> None:
    logs = Logs(server, 1)
    logs.batches[0] = [batch(0, 1), batch(1, 1)]
    logs.tail = batch(1, 1)[:40]
    assert await read(cluster, Span(0, 0, 2)) == [(0, 0), (0, 1)]


async def test_a_damaged_batch_is_not_believed(server: KafkaServer, cluster: Cluster) -> None:
    logs = Logs(server, 1)
    damaged = bytearray(batch(0, 3))
    damaged[-1] ^= 1
    logs.batches[0] = [bytes(damaged)]
    with pytest.raises(Garbled, match="offset 0 of partition 0 of topic 'orders' is damaged"):
        await read(cluster, Span(0, 0, 3))


async def test_without_an_end_it_goes_on_as_records_come(
    server: KafkaServer, cluster: Cluster
) -> None:
    logs = Logs(server, 1)
    logs.batches[0] = [batch(0, 1)]
    seen: list[int | None] = []
    async for chunk in consume(cluster, "orders", [Span(0, 0)]):
        seen += [record.offset for record in chunk.records]
        if len(seen) == 3:
            break
        logs.batches[0].append(batch(len(seen), 1))
    assert seen == [0, 1, 2]


@pytest.fixture
def first_record(server: KafkaServer) -> Logs:
    logs = Logs(server, 1)
    logs.batches[0] = [batch(0, 1)]
    return logs


@pytest.mark.usefixtures("quick")
async def test_a_change_of_leaders_is_waited_out(first_record: Logs, cluster: Cluster) -> None:
    first_record.faults = [NOT_LEADER_OR_FOLLOWER] * 3
    assert await read(cluster, Span(0, 0, 1)) == [(0, 0)]


@pytest.mark.usefixtures("quick")
async def test_but_not_for_ever(first_record: Logs, cluster: Cluster) -> None:
    first_record.faults = [NOT_LEADER_OR_FOLLOWER] * 10
    with pytest.raises(Refused, match="NOT_LEADER_OR_FOLLOWER"):
        await read(cluster, Span(0, 0, 1))


async def test_a_range_that_is_gone_is_refused(first_record: Logs, cluster: Cluster) -> None:
    first_record.faults = [OFFSET_OUT_OF_RANGE]
    with pytest.raises(Refused, match="OFFSET_OUT_OF_RANGE"):
        await read(cluster, Span(0, 0, 1))


@given(st.integers(0, 200))
def test_whole_batches_are_a_prefix_of_what_came(cut: int) -> None:
    first, second = batch(0, 2), batch(2, 1)
    kept = whole_batches((first + second)[:cut])
    assert kept == (
        first + second if cut >= len(first + second) else first if cut >= len(first) else b""
    )
