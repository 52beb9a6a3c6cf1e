"""Record batches that lie: about their checksum, their lengths, their records or their size."""

import gzip
import random

import pytest
from tests.harness.node import Node
from tests.harness.process import resident_bytes
from tests.harness.wire import Wire, batch_of

from duolog.records.builder import build_batch
from duolog.records.checksum import seal
from duolog.records.header import (
    ATTRIBUTES_AT,
    HEADER_BYTES,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    RECORD_COUNT_AT,
)
from duolog.records.record import Record

MIB = 1 << 20
UNKNOWN_SERVER_ERROR = -1
OFFSET_OUT_OF_RANGE = 1
CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC = 3
MESSAGE_TOO_LARGE = 10
INVALID_TOPIC = 17
INVALID_RECORD = 87
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
MUTATIONS = 1_500


@pytest.fixture
def wire(node: Node):  # type: ignore[no-untyped-def]
    with Wire(node.kafka) as wire:
        yield wire


def patched(batch: bytearray, at: int, value: int, width: int = 4) -> bytearray:
    """The batch with a lie in its header, under a right checksum."""
    batch[at : at + width] = value.to_bytes(width, "big", signed=True)
    seal(batch)
    return batch


def end_offset(wire: Wire) -> int:
    """Where the next record would go, found out by sending one."""
    return wire.produce_values("plain", [b"probe"])


def test_a_wrong_checksum_is_refused(wire: Wire) -> None:
    before = end_offset(wire)
    batch = batch_of([b"value"])
    batch[-1] ^= 1
    assert wire.produce("plain", 0, batch)[0] == CORRUPT_MESSAGE
    assert end_offset(wire) == before + 1, "a refused batch used up offsets"


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (LENGTH_AT, 0),
        (LENGTH_AT, -1),
        (LENGTH_AT, 10),
        (LENGTH_AT, 0x7FFF_FFFF),
        (RECORD_COUNT_AT, 0),
        (RECORD_COUNT_AT, -1),
        (RECORD_COUNT_AT, 1_000_000),
        (RECORD_COUNT_AT, 2),
        (LAST_OFFSET_DELTA_AT, -1),
        (LAST_OFFSET_DELTA_AT, 0x7FFF_FFFF),
        (LAST_OFFSET_DELTA_AT, 5),
    ],
)
def test_a_header_that_lies_is_refused(wire: Wire, at: int, value: int) -> None:
    before = end_offset(wire)
    code, _ = wire.produce("plain", 0, patched(batch_of([b"a", b"b", b"c"]), at, value))
    assert code in (CORRUPT_MESSAGE, INVALID_RECORD)
    assert end_offset(wire) == before + 1


@pytest.mark.parametrize("records", [b"", bytes(5), bytes(HEADER_BYTES), b"\xff" * 200])
def test_what_is_no_batch_is_refused(wire: Wire, records: bytes) -> None:
    code, _ = wire.produce("plain", 0, records)
    assert code != 0


def test_two_batches_in_place_of_one_are_not_stored_by_half(wire: Wire) -> None:
    before = end_offset(wire)
    code, _ = wire.produce("plain", 0, batch_of([b"one"]) + batch_of([b"two"]))
    assert code in (0, CORRUPT_MESSAGE, INVALID_RECORD)
    assert end_offset(wire) == before + 1 + (2 if code == 0 else 0)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD, 5, 6, 7])
def test_a_body_that_is_not_what_its_codec_says_is_refused_where_it_is_opened(
    wire: Wire, codec: int
) -> None:
    batch = build_batch([Record(b"key", b"value" * 20)])
    batch[ATTRIBUTES_AT + 1] |= codec
    seal(batch)
    assert wire.produce("compacted", 0, batch)[0] != 0


def test_a_compression_bomb_is_refused_in_bounded_memory(node: Node, wire: Wire) -> None:
    before = resident_bytes(node.pid)
    for codec in (GZIP, LZ4, ZSTD):
        bomb = build_batch([Record(b"key", bytes(200 * MIB))], compression=codec)
        if len(bomb) > MIB:
            continue
        code, _ = wire.produce("compacted", 0, bomb)
        assert code in (CORRUPT_MESSAGE, MESSAGE_TOO_LARGE), codec
        assert resident_bytes(node.pid) - before < 100 * MIB


def test_a_bomb_within_a_bomb_is_refused_in_bounded_memory(node: Node, wire: Wire) -> None:
    batch = build_batch([Record(b"key", b"")], compression=GZIP)
    body = gzip.compress(bytes(64 * MIB))
    bomb = batch[:HEADER_BYTES] + body * 14
    bomb[LENGTH_AT : LENGTH_AT + 4] = (len(bomb) - 12).to_bytes(4, "big")
    seal(bomb)
    before = resident_bytes(node.pid)
    assert wire.produce("compacted", 0, bomb)[0] != 0
    assert resident_bytes(node.pid) - before < 100 * MIB


def test_inner_lengths_that_lie_are_refused_where_they_are_read(wire: Wire) -> None:
    chance = random.Random(2)
    original = build_batch([Record(b"k%d" % each, b"v" * each) for each in range(20)])
    for _ in range(MUTATIONS):
        batch = bytearray(original)
        for _ in range(chance.randint(1, 4)):
            batch[chance.randrange(ATTRIBUTES_AT, len(batch))] = chance.randrange(256)
        seal(batch)
        wire.produce("compacted", 0, batch)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_compressed_bodies_that_are_damaged_are_survived(wire: Wire, codec: int) -> None:
    chance = random.Random(codec)
    records = [Record(b"k%d" % each, chance.randbytes(20) * each) for each in range(20)]
    original = build_batch(records, compression=codec)
    for _ in range(MUTATIONS // 5):
        batch = bytearray(original)
        for _ in range(chance.randint(1, 4)):
            batch[chance.randrange(HEADER_BYTES, len(batch))] = chance.randrange(256)
        seal(batch)
        wire.produce("compacted", 0, batch)


@pytest.mark.parametrize(
    "name", ["a/b", "../../etc/passwd", "", ".", "..", "a" * 250, "with space", "nul\x00", "ü"]
)
def test_a_name_that_no_topic_may_have_is_refused(node: Node, wire: Wire, name: str) -> None:
    assert wire.create_topic(name) == INVALID_TOPIC
    assert wire.produce(name, 0, batch_of([b"x"]))[0] in (UNKNOWN_TOPIC, INVALID_TOPIC)
    assert wire.fetch(name, 0, 0)[0] in (UNKNOWN_TOPIC, INVALID_TOPIC)
    assert not list(node.data.parent.rglob("*passwd*"))


@pytest.mark.parametrize("partition", [-1, 2, 0x7FFF_FFFF])
def test_a_partition_that_is_not_there_is_unknown(wire: Wire, partition: int) -> None:
    assert wire.produce("plain", partition, batch_of([b"x"]))[0] == UNKNOWN_TOPIC
    assert wire.fetch("plain", partition, 0)[0] == UNKNOWN_TOPIC


@pytest.mark.parametrize("offset", [-1, -(1 << 63), (1 << 63) - 1, 1 << 40])
def test_an_offset_that_is_not_there_is_out_of_range(wire: Wire, offset: int) -> None:
    assert wire.fetch("plain", 0, offset)[0] == OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("bytes_max", [0, -1, 1, -(1 << 31), (1 << 31) - 1])
def test_a_strange_fetch_size_does_no_harm(wire: Wire, bytes_max: int) -> None:
    for _ in range(20):
        end = end_offset(wire) + 1
    for offset in (0, end // 2, end - 1, end):
        assert wire.fetch("plain", 0, offset, bytes_max=bytes_max)[0] == 0
        assert wire.fetch("plain", 0, offset, partition_bytes_max=bytes_max)[0] == 0
