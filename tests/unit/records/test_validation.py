from struct import pack_into

import pytest

from duolog.model.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    Refusal,
    UnsupportedCompression,
    UnsupportedFormat,
)
from duolog.model.limits import RECORDS_PER_BATCH_MAX
from duolog.records.builder import build_batch
from duolog.records.checksum import seal
from duolog.records.compression import compress
from duolog.records.header import (
    ATTRIBUTES_AT,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_AT,
    read_header,
)
from duolog.records.record import Record
from duolog.records.validation import check_batch, check_records

SMALL = Record(b"key", b"value", (("h", b"1"),), 1_000)
BIG = Record(b"key", b"value" * 10_000, (), 1_000)
MIB = 1 << 20


def refused(batch: bytes | bytearray, *, bytes_max: int = MIB) -> type[Refusal]:
    with pytest.raises(Refusal) as refusal:
        check_batch(memoryview(batch), bytes_max=bytes_max)
    return refusal.type


def altered(batch: bytearray, **fields: int) -> bytearray:
    """The batch with other header fields and a right checksum."""
    HEADER.pack_into(batch, 0, *read_header(batch)._replace(**fields))
    seal(batch)
    return batch


@pytest.mark.parametrize("compression", range(5))
@pytest.mark.parametrize(
    "records",
    [[Record()], [SMALL], [Record(value=b"x" * 100)], [BIG], [SMALL, BIG] * 5],
    ids=["smallest", "one byte", "two bytes", "three bytes", "many"],
)
def test_a_right_batch_is_taken(records: list[Record], compression: int) -> None:
    batch = build_batch(records, compression=compression, producer_id=4, base_sequence=0)
    header = check_batch(memoryview(batch), bytes_max=len(batch))
    assert header == read_header(batch)
    assert type(header) is type(read_header(batch))


def test_a_batch_cut_inside_its_header_is_corrupt() -> None:
    batch = build_batch([SMALL])
    for length in range(HEADER_BYTES):
        assert refused(batch[:length]) is CorruptBatch


def test_a_batch_cut_or_followed_is_corrupt() -> None:
    batch = build_batch([SMALL])
    assert refused(batch[:-1]) is CorruptBatch
    assert refused(batch + b"\x00") is CorruptBatch
    assert refused(batch + batch) is CorruptBatch


@pytest.mark.parametrize("magic", [0, 1])
def test_an_older_format_is_told_from_damage(magic: int) -> None:
    batch = build_batch([SMALL])
    batch[MAGIC_AT] = magic
    assert refused(batch) is UnsupportedFormat
    smallest_old_message = batch[:26]
    assert refused(smallest_old_message) is UnsupportedFormat


@pytest.mark.parametrize("magic", [3, 0xFF])
def test_a_format_that_never_was_is_corrupt(magic: int) -> None:
    batch = build_batch([SMALL])
    batch[MAGIC_AT] = magic
    assert refused(batch) is CorruptBatch


def test_a_batch_larger_than_the_topic_takes_is_too_large() -> None:
    batch = build_batch([SMALL])
    assert refused(batch, bytes_max=len(batch) - 1) is BatchTooLarge


@pytest.mark.parametrize("at", [ATTRIBUTES_AT, 40, HEADER_BYTES, -1])
def test_a_changed_byte_is_corrupt(at: int) -> None:
    batch = build_batch([SMALL])
    batch[at] ^= 0x40
    assert refused(batch) is CorruptBatch


@pytest.mark.parametrize(
    "fields",
    [
        {"record_count": 0, "last_offset_delta": -1},
        {"record_count": -1, "last_offset_delta": -2},
        {"record_count": 2},
        {"last_offset_delta": 1},
        {"record_count": 1_000_000, "last_offset_delta": 999_999},
    ],
)
def test_a_count_that_cannot_be_is_corrupt(fields: dict[str, int]) -> None:
    assert refused(altered(build_batch([SMALL]), **fields)) is CorruptBatch


@pytest.mark.parametrize("compression", [1, 2, 3, 4])
def test_a_compressed_batch_cannot_use_up_offsets_by_the_billion(compression: int) -> None:
    count = RECORDS_PER_BATCH_MAX + 1
    batch = build_batch([SMALL], compression=compression)
    lying = altered(batch, record_count=count, last_offset_delta=count - 1)
    assert refused(lying) is CorruptBatch


@pytest.mark.parametrize("compression", range(5))
def test_a_batch_without_a_body_is_corrupt(compression: int) -> None:
    header = read_header(build_batch([SMALL], compression=compression))
    bare = bytearray(HEADER.pack(*header))
    length = HEADER_BYTES - LENGTH_PREFIX_BYTES
    assert refused(altered(bare, batch_length=length)) is CorruptBatch


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_compression_is_refused(codec: int) -> None:
    assert refused(altered(build_batch([SMALL]), attributes=codec)) is UnsupportedCompression


@pytest.mark.parametrize(
    ("bit", "refusal"),
    [
        (CONTROL_BIT, InvalidRecord),
        (DELETE_HORIZON_BIT, InvalidRecord),
        (LOG_APPEND_TIME_BIT, InvalidTimestamp),
    ],
)
def test_what_only_a_broker_may_write_is_refused(bit: int, refusal: type[Refusal]) -> None:
    assert refused(altered(build_batch([SMALL]), attributes=bit)) is refusal


def test_a_producer_has_to_number_its_batches() -> None:
    assert refused(build_batch([SMALL], producer_id=5)) is InvalidRecord


@pytest.mark.parametrize("record", [Record(), SMALL, Record(value=b"x" * 100), BIG])
@pytest.mark.parametrize("change", [-2, 2, 1])
def test_a_first_record_that_does_not_fit_is_corrupt(record: Record, change: int) -> None:
    batch = build_batch([record])
    batch[HEADER_BYTES] += change
    seal(batch)
    assert refused(batch) is CorruptBatch


def test_a_first_record_longer_than_the_batch_is_corrupt() -> None:
    batch = build_batch([SMALL] * 3)
    for length in (b"\xfe\x7f", b"\xfe\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff", b"\x01"):
        pack_into(f"{len(length)}s", batch, HEADER_BYTES, length)
        seal(batch)
        assert refused(batch) is CorruptBatch


@pytest.mark.parametrize("compression", range(5))
def test_every_record_of_a_compacted_topic_has_a_key(compression: int) -> None:
    def check(records: list[Record], *, keys_required: bool) -> None:
        batch = memoryview(build_batch(records, compression=compression, base_offset=9))
        header = check_batch(batch, bytes_max=MIB)
        check_records(batch, header, decompressed_bytes_max=MIB, keys_required=keys_required)

    keyless = [SMALL, Record(None, b"value")]
    check([SMALL, Record(b"", b"an empty key is one")], keys_required=True)
    check(keyless, keys_required=False)
    with pytest.raises(InvalidRecord, match="record 1 has no key"):
        check(keyless, keys_required=True)


@pytest.mark.parametrize("compression", range(5))
def test_nonsense_under_a_right_checksum_is_found_on_opening(compression: int) -> None:
    plain = build_batch([SMALL] * 3)
    plain[-2] ^= 0x7F
    body = compress(compression, plain[HEADER_BYTES:])
    batch = altered(
        plain[:HEADER_BYTES] + body,
        batch_length=HEADER_BYTES - LENGTH_PREFIX_BYTES + len(body),
        attributes=compression,
    )
    header = check_batch(memoryview(batch), bytes_max=MIB)
    with pytest.raises(CorruptBatch):
        check_records(memoryview(batch), header, decompressed_bytes_max=MIB, keys_required=False)


def test_a_batch_that_opens_too_large_is_refused() -> None:
    batch = memoryview(build_batch([BIG], compression=4))
    header = check_batch(batch, bytes_max=1_000)
    with pytest.raises(BatchTooLarge):
        check_records(batch, header, decompressed_bytes_max=10_000, keys_required=False)
