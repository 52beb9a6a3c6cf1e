"""A connection: frames however they arrive, answers in the order of the requests."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from struct import pack, unpack_from
from typing import Any

import pytest
from tests.fakes.broker import start_broker
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.broker import Broker
from duolog.kafka_api.connection import Connection
from duolog.kafka_api.door import KafkaDoor
from duolog.model.errors import NotLeader
from duolog.observe.metrics import Metrics
from duolog.ports.disk import Syncable, SyncDone
from duolog.ports.transport import Chunk, FileRange
from duolog.records.builder import build_batch
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.error_codes import ErrorCode
from duolog.wire.kafka.frames import encode_header, parse_response_header
from duolog.wire.kafka.messages import decode_response, encode_request

PRODUCE_VERSION = 9
FETCH_VERSION = 12


class HeldDisk(FakeDisk):
    def __init__(self) -> None:
        super().__init__()
        self.held: list[SyncDone] = []

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        self.held.append(done)

    def release(self) -> None:
        while self.held:
            self.held.pop(0)(None)


class Wire:
    """A transport that keeps what was sent."""

    peer = "10.0.0.1:1"
    host = "10.0.0.1"
    backlog_bytes = 0

    def __init__(self) -> None:
        self.sent = bytearray()
        self.writes = 0
        self.is_closed = False
        self.is_paused = False

    def send(self, data: bytes) -> None:
        self.write((data,))

    def write(self, chunks: Sequence[Chunk]) -> None:
        self.writes += 1
        for chunk in chunks:
            if isinstance(chunk, FileRange):
                chunk = chunk.file.pread(chunk.length, chunk.position)
            self.sent += chunk

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def answers(self) -> Iterator[tuple[int, bytes]]:
        """Correlation id and the rest, of each response frame sent so far."""
        data = bytes(self.sent)
        while data:
            (size,) = unpack_from(">i", data)
            yield unpack_from(">i", data, 4)[0], data[4 : 4 + size]
            data = data[4 + size :]

    def ids(self) -> list[int]:
        return [correlation_id for correlation_id, _ in self.answers()]


class Bench:
    def __init__(self, broker: Broker, disk: HeldDisk) -> None:
        self.broker = broker
        self.disk = disk
        self.door = KafkaDoor(broker, Metrics(), lambda: 77)
        self.wire = Wire()
        self.connection: Connection = self.door.new_session(self.wire)

    def receive(self, data: bytes, piece: int | None = None) -> None:
        """Let bytes arrive, all at once or in pieces."""
        while data and not self.wire.is_closed:
            buffer = self.connection.get_buffer()
            count = min(len(data), len(buffer), piece or len(data))
            buffer[:count] = data[:count]
            data = data[count:]
            self.connection.received(count)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    disk = HeldDisk()
    store = await SqliteStore.open(":memory:", SetClock())
    broker = await start_broker(disk, store)
    await broker.catalog.create_topic("os", 2, {"durability": "os"})
    await broker.catalog.create_topic("fsync", 2, {"durability": "fsync"})
    bench = Bench(broker, disk)
    yield bench
    disk.release()
    await broker.catalog.stop()
    await store.close()


def request(api_key: int, version: int, correlation_id: int, fields: dict[str, Any]) -> bytes:
    frame = encode_header(api_key, version, correlation_id, "test")
    frame += encode_request(api_key, version, fields)
    return pack(">i", len(frame)) + frame


def produce(
    correlation_id: int, topic: str = "os", *, acks: int = -1, partitions: Sequence[int] = (0,)
) -> bytes:
    batch = bytes(build_batch([Record(b"k", b"%d" % correlation_id)]))
    rows = [{"index": index, "records": batch} for index in partitions]
    fields = {
        "transactional_id": None,
        "acks": acks,
        "timeout": 1_000,
        "topic_data": [{"name": topic, "partition_data": rows}],
    }
    return request(ApiKey.PRODUCE, PRODUCE_VERSION, correlation_id, fields)


def fetch(correlation_id: int, topic: str = "os", *, offset: int = 0, wait_ms: int = 0) -> bytes:
    row = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1 << 20,
    }
    fields = {
        "replica_id": -1,
        "max_wait": wait_ms,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [row]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    return request(ApiKey.FETCH, FETCH_VERSION, correlation_id, fields)


def api_versions(correlation_id: int, version: int = 0) -> bytes:
    frame = encode_header(ApiKey.API_VERSIONS, version, correlation_id, "test")
    return pack(">i", len(frame)) + frame


def decoded(api_key: int, version: int, answer: bytes) -> Any:
    view = memoryview(answer)
    _, position = parse_response_header(api_key, version, view, 0, len(answer))
    return decode_response(api_key, version, view[position:])


def produced(answer: bytes) -> list[tuple[int, int, int]]:
    """Partition, error code and base offset of each partition."""
    response = decoded(ApiKey.PRODUCE, PRODUCE_VERSION, answer)
    return [
        (row.index, int(row.error_code), row.base_offset)
        for topic in response.responses
        for row in topic.partition_responses
    ]


@pytest.mark.parametrize("piece", [None, 1, 7, 100])
async def test_frames_mean_the_same_however_they_arrive(bench: Bench, piece: int | None) -> None:
    bench.receive(b"".join(produce(n) for n in range(20)), piece)
    answers = dict(bench.wire.answers())
    assert list(answers) == list(range(20))
    assert [produced(answers[n]) for n in range(20)] == [[(0, 0, n)] for n in range(20)]


async def test_requests_of_one_read_are_answered_with_one_write(bench: Bench) -> None:
    bench.receive(b"".join(produce(n) for n in range(20)))
    assert bench.wire.writes == 1


async def test_several_partitions_and_unknown_ones_in_one_request(bench: Bench) -> None:
    bench.receive(produce(1, partitions=(0, 5, 1)))
    ((_, answer),) = bench.wire.answers()
    assert produced(answer) == [(0, 0, 0), (5, 3, -1), (1, 0, 0)]


async def test_produce_requests_are_pipelined_and_wait_for_the_disk(bench: Bench) -> None:
    bench.receive(b"".join(produce(n, "fsync") for n in range(3)))
    bench.receive(produce(3, "fsync"))
    assert bench.wire.sent == b""
    bench.disk.release()
    await _settle()
    assert bench.wire.ids() == [0, 1, 2, 3]


async def test_an_answer_never_overtakes_an_earlier_one(bench: Bench) -> None:
    bench.receive(produce(1, "fsync") + produce(2, "os") + api_versions(3) + produce(4, "os"))
    assert bench.wire.sent == b""
    bench.disk.release()
    await _settle()
    assert bench.wire.ids() == [1, 2, 3, 4]


async def test_requests_without_acknowledgement_are_not_answered(bench: Bench) -> None:
    bench.receive(produce(1, acks=0) + produce(2))
    assert bench.wire.ids() == [2]
    assert bench.broker.partition("os", 0).log.end_offset == 2


async def test_a_failed_request_without_acknowledgement_closes(bench: Bench) -> None:
    bench.receive(produce(1, acks=0, partitions=(9,)))
    assert bench.wire.is_closed


async def test_impossible_acks_are_refused(bench: Bench) -> None:
    bench.receive(produce(1, acks=7))
    ((_, answer),) = bench.wire.answers()
    assert produced(answer) == [(0, 21, -1)]


async def test_a_lane_ends_with_its_topic(bench: Bench) -> None:
    bench.receive(produce(1) + produce(2))
    await bench.broker.catalog.delete_topic("os")
    bench.receive(produce(3))
    await bench.broker.catalog.create_topic("os", 1, {"durability": "os"})
    bench.receive(produce(4) + produce(5))
    answers = dict(bench.wire.answers())
    assert produced(answers[3]) == [(0, 3, -1)]
    assert produced(answers[4]) == [(0, 0, 0)]
    assert produced(answers[5]) == [(0, 0, 1)]


async def test_what_was_produced_is_fetched(bench: Bench) -> None:
    bench.receive(produce(1) + produce(2) + fetch(3))
    answers = dict(bench.wire.answers())
    (topic,) = decoded(ApiKey.FETCH, FETCH_VERSION, answers[3]).responses
    (row,) = topic.partitions
    assert (row.error_code, row.high_watermark) == (0, 2)
    piece = bench.broker.partition("os", 0).read(0, 1 << 20)
    assert piece is not None
    assert row.records == piece.file.pread(piece.length, piece.position)


async def test_a_parked_fetch_is_answered_as_soon_as_there_is_something(bench: Bench) -> None:
    bench.receive(fetch(1, wait_ms=60_000))
    assert bench.wire.sent == b""
    await bench.broker.partition("os", 0).append(bytearray(build_batch([Record(b"k", b"v")])))
    await _settle()
    assert bench.wire.ids() == [1]


async def test_a_fetch_from_a_deleted_topic_does_not_stay_parked(bench: Bench) -> None:
    bench.receive(fetch(1, wait_ms=60_000))
    await bench.broker.catalog.delete_topic("os")
    await _settle()
    ((_, answer),) = bench.wire.answers()
    (topic,) = decoded(ApiKey.FETCH, FETCH_VERSION, answer).responses
    assert topic.partitions[0].error_code == 3


async def test_requests_behind_a_parked_fetch_wait_for_it(bench: Bench) -> None:
    bench.receive(fetch(1, wait_ms=60_000) + produce(2))
    assert bench.broker.partition("os", 0).log.end_offset == 0
    await bench.broker.partition("os", 0).append(bytearray(build_batch([Record(b"k", b"v")])))
    await _settle()
    assert bench.wire.ids() == [1, 2]


async def test_a_closed_connection_leaves_nothing_parked(bench: Bench) -> None:
    bench.receive(fetch(1, wait_ms=60_000))
    bench.connection.closed()
    await bench.broker.partition("os", 0).append(bytearray(build_batch([Record(b"k", b"v")])))
    await _settle()
    assert bench.wire.sent == b""


async def test_an_unknown_version_of_api_versions_is_told_the_range(bench: Bench) -> None:
    bench.receive(api_versions(1, version=99))
    ((_, answer),) = bench.wire.answers()
    assert unpack_from(">h", answer, 4) == (35,)


@pytest.mark.parametrize(
    "frame",
    [
        pack(">i", -1),
        pack(">i", 3),
        pack(">i", 104_857_601),
        pack(">ihhih", 10, 999, 0, 1, -1),
        pack(">ihhih", 10, 0, 2, 1, -1),
        pack(">ihhih", 10, 0, 99, 1, -1),
        pack(">ihhih", 10, 3, 1, 1, 500),
    ],
)
async def test_what_is_no_request_closes_the_connection(bench: Bench, frame: bytes) -> None:
    bench.receive(frame)
    assert bench.wire.is_closed


async def test_what_came_before_nonsense_is_still_served(bench: Bench) -> None:
    bench.receive(produce(1) + pack(">i", -1))
    assert bench.wire.is_closed
    assert bench.wire.ids() == [1]
    assert bench.broker.partition("os", 0).log.end_offset == 1


async def test_a_client_that_sends_ahead_of_its_answers_is_made_to_wait(bench: Bench) -> None:
    bench.receive(fetch(1, wait_ms=60_000))
    flood = produce(2) * 5_000
    while flood and not bench.wire.is_paused:
        buffer = bench.connection.get_buffer()
        count = min(len(buffer), len(flood))
        buffer[:count], flood = flood[:count], flood[count:]
        bench.connection.received(count)
    assert bench.wire.is_paused
    await bench.broker.partition("os", 0).append(bytearray(build_batch([Record(b"k", b"v")])))
    await _settle()
    assert not bench.wire.is_paused


async def _settle() -> None:
    """Let what was scheduled for the end of this event happen."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_produce_that_is_not_confirmed_in_time_is_told_so(bench: Bench) -> None:
    one, many = produce(1, "fsync"), produce(3, "fsync", partitions=(0, 1))
    bench.receive(one + produce(2, "fsync") + many)
    bench.connection.sweep(1_000, idle_ms_max=10**9, frame_ms_max=10**9)
    await _settle()
    assert bench.wire.sent == b""
    bench.connection.sweep(1_001, idle_ms_max=10**9, frame_ms_max=10**9)
    await _settle()
    answers = dict(bench.wire.answers())
    assert produced(answers[2]) == [(0, 7, -1)]
    assert produced(answers[3]) == [(0, 7, -1), (1, 7, -1)]
    bench.disk.release()
    await _settle()
    assert bench.wire.ids() == [1, 2, 3]


async def test_a_node_that_is_out_of_touch_hangs_up_on_who_asks_whom_to_ask(bench: Bench) -> None:
    bench.broker.suspend(NotLeader("out of touch"))
    bench.receive(produce(1))
    assert bench.wire.ids() == [1]
    topics = {"topics": None, "allow_auto_topic_creation": False}
    bench.receive(request(ApiKey.METADATA, 4, 2, topics))
    assert bench.wire.is_closed
    assert bench.wire.ids() == [1]


@pytest.mark.parametrize("is_on_a_lane", [False, True])
async def test_rule_03_a_leader_that_was_stopped_looks_at_the_clock_before_it_answers(
    bench: Bench, is_on_a_lane: bool
) -> None:
    if is_on_a_lane:
        for number in (1, 2):
            bench.receive(produce(number))
    bench.broker.liveness.until_ns = bench.broker.clock.monotonic_ns()
    bench.broker.liveness.look = lambda: bench.broker.suspend(NotLeader("the lease has ended"))
    bench.receive(produce(3))
    await _settle()
    ((_, code, _),) = produced(dict(bench.wire.answers())[3])
    assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_stopping_node_answers_consumers_that_wait_at_once(bench: Bench) -> None:
    bench.receive(fetch(1, wait_ms=60_000))
    bench.connection.close_when_answered()
    await _settle()
    assert bench.wire.ids() == [1]
    bench.connection.close_when_answered()
    assert bench.wire.is_closed


async def test_a_stopping_node_reads_no_further_requests_but_answers_those_that_came(
    bench: Bench,
) -> None:
    bench.receive(produce(1, "fsync"))
    bench.connection.close_when_answered()
    assert bench.wire.is_paused
    assert not bench.wire.is_closed
    bench.disk.release()
    await _settle()
    assert bench.wire.ids() == [1]
    assert bench.wire.is_paused
    bench.connection.close_when_answered()
    assert bench.wire.is_closed
