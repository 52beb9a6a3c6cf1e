"""What Kafka clients use is counted with the answer that they get: once, whatever they repeat."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.fakes.broker import start_broker
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock
from tests.fakes.meter import FakeMeter
from tests.unit.kafka_api.test_connection import Wire, fetch, produce, request

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.broker import Broker
from duolog.kafka_api.door import KafkaDoor
from duolog.observe.metrics import Metrics
from duolog.records.builder import build_batch
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey

PRODUCED = ("topic", "os", "produce")
FETCHED = ("topic", "os", "fetch")


class Bench:
    def __init__(self, broker: Broker, disk: FakeDisk, meter: FakeMeter) -> None:
        self.broker = broker
        self.disk = disk
        self.meter = meter
        self.wire = Wire()
        self.connection = KafkaDoor(broker, Metrics(), lambda: 77).new_session(self.wire)

    def receive(self, data: bytes) -> None:
        self.connection.get_buffer()[: len(data)] = data
        self.connection.received(len(data))

    @property
    def log_bytes(self) -> int:
        return sum(self.broker.partition("os", index).log.size_bytes for index in (0, 1))


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    disk, meter = FakeDisk(), FakeMeter()
    store = await SqliteStore.open(":memory:", SetClock())
    broker = await start_broker(disk, store, prepare=lambda each: setattr(each, "meter", meter))
    await broker.catalog.create_topic("os", 2, {"durability": "os"})
    yield Bench(broker, disk, meter)
    await broker.catalog.stop()
    await store.close()


def numbered(correlation_id: int, sequence: int, *, producer_id: int = 5) -> bytes:
    """A batch of two records from an idempotent producer."""
    batch = build_batch(
        [Record(b"k", b"v")] * 2,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
    )
    rows = [{"index": 0, "records": bytes(batch)}]
    fields = {
        "transactional_id": None,
        "acks": -1,
        "timeout": 1_000,
        "topic_data": [{"name": "os", "partition_data": rows}],
    }
    return request(ApiKey.PRODUCE, 9, correlation_id, fields)


async def test_each_way_to_produce_is_counted_alike(bench: Bench) -> None:
    # Parsed, then on its lane alone, then several with one read.
    for data in (produce(0), produce(1), produce(2) + produce(3) + produce(4)):
        bench.receive(data)
    bench.receive(produce(5, acks=0))
    bench.receive(produce(6, partitions=(0, 1)))
    assert bench.meter.counted == {PRODUCED: (8, 8, bench.log_bytes, 0)}


async def test_a_repetition_is_not_counted_again(bench: Bench) -> None:
    for data in (
        numbered(0, 0),
        numbered(1, 0),
        numbered(2, 2),
        numbered(3, 2),
        numbered(4, 4) + numbered(5, 4) + numbered(6, 6),
        numbered(7, 6) + numbered(8, 4),
    ):
        bench.receive(data)
    assert bench.wire.ids() == list(range(9))
    assert bench.meter.counted == {PRODUCED: (4, 8, bench.log_bytes, 0)}


async def test_what_is_refused_is_counted_as_an_error(bench: Bench) -> None:
    bench.receive(numbered(0, 0))
    bench.receive(numbered(1, 7))
    bench.receive(numbered(2, 9) + numbered(3, 2))
    assert bench.meter.counted == {PRODUCED: (4, 4, bench.log_bytes, 2)}


async def test_a_write_that_fails_counts_no_message(bench: Bench) -> None:
    bench.receive(numbered(0, 0))
    size = bench.log_bytes
    bench.disk.fail("write", times=2)
    bench.receive(numbered(1, 2))
    requests, messages, counted_bytes, errors = bench.meter.counted[PRODUCED]
    assert (messages, counted_bytes, errors) == (2, size, 1)
    assert requests >= 1


async def test_a_fetch_counts_the_offsets_that_it_covers(bench: Bench) -> None:
    bench.receive(produce(0) + produce(1) + produce(2))
    size = bench.log_bytes
    bench.receive(fetch(3))
    bench.receive(fetch(4, offset=2))
    assert bench.meter.counted[FETCHED] == (2, 4, size + size // 3, 0)
    bench.receive(fetch(5, offset=99))
    assert bench.meter.counted[FETCHED][3] == 1


async def test_a_fetch_that_waits_is_counted_when_it_is_answered(bench: Bench) -> None:
    bench.receive(fetch(1, wait_ms=10_000))
    assert FETCHED not in bench.meter.counted
    producer = KafkaDoor(bench.broker, Metrics(), lambda: 78).new_session(Wire())
    data = produce(2)
    producer.get_buffer()[: len(data)] = data
    producer.received(len(data))
    async with asyncio.timeout(10):
        while bench.wire.ids() != [1]:
            await asyncio.sleep(0.001)
    assert bench.meter.counted[FETCHED] == (1, 1, bench.log_bytes, 0)


async def test_unknown_and_internal_topics_are_not_counted(bench: Bench) -> None:
    bench.receive(produce(0, "unknown"))
    await bench.broker.catalog.create_topic("__usage", 1, {})
    bench.receive(produce(1, "__usage"))
    bench.receive(fetch(2, "__usage"))
    assert bench.meter.counted == {}
