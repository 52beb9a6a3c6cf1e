import pytest

from duolog.model.errors import BatchTooLarge, CorruptBatch, UnsupportedCompression
from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.records.builder import build_batch
from duolog.records.header import (
    ATTRIBUTES_AT,
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    MAGIC_AT,
    read_header,
)
from duolog.records.iterator import iter_batches, iter_keys, iter_records
from duolog.records.record import Record
from duolog.records.varint import encode_varint

RECORDS = [
    Record(b"key", b"value", (("name", b"x"), ("none", None)), 1_000),
    Record(None, b"", (), 1_500),
    Record(b"", None, (), 900),
]
MIB = 1 << 20


def read(batch: bytes | bytearray | memoryview) -> list[Record]:
    return list(iter_records(batch, decompressed_bytes_max=MIB))


def batch_of(*records: bytes, **fields: int) -> bytearray:
    """A batch whose records are given as bytes, right or wrong."""
    body = b"".join(records)
    template = read_header(build_batch([Record()] * len(records)))
    length = HEADER_BYTES - LENGTH_PREFIX_BYTES + len(body)
    header = template._replace(**{"batch_length": length, **fields})
    return bytearray(HEADER.pack(*header) + body)


def record_of(
    *,
    timestamp: bytes = b"\x00",
    offset: bytes = b"\x00",
    key: bytes = b"\x01",
    value: bytes = b"\x01",
    headers: bytes = b"\x00",
    length: int | None = None,
) -> bytes:
    content = b"\x00" + timestamp + offset + key + value + headers
    return encode_varint(len(content) if length is None else length) + content


def test_a_right_record_is_read() -> None:
    assert read(batch_of(record_of())) == [Record(timestamp=-1, offset=0)]


@pytest.mark.parametrize(
    ("wrong", "record"),
    [
        ("record longer than the batch", record_of(length=7)),
        ("record shorter than its content", record_of(length=5)),
        ("record of negative length", record_of(length=-1)),
        ("record of no bytes", b"\x00"),
        ("record without headers", record_of(headers=b"")),
        ("key longer than the record", record_of(key=b"\x7e")),
        ("key that swallows the headers", record_of(key=b"\x06ab", value=b"", headers=b"")),
        ("key of length -2", record_of(key=b"\x03")),
        ("value longer than the record", record_of(value=b"\x7e")),
        ("value of length -2", record_of(value=b"\x03")),
        ("headers of negative count", record_of(headers=b"\x01")),
        ("headers that are not there", record_of(headers=b"\x04\x02n\x01")),
        ("headers by the billion", record_of(headers=encode_varint((1 << 31) - 1))),
        ("header without a name", record_of(headers=b"\x02\x01\x01")),
        ("header whose name is not text", record_of(headers=b"\x02\x02\xff\x01")),
        ("header longer than the record", record_of(headers=b"\x02\x02n\x7e")),
        ("bytes after the headers", record_of(headers=b"\x00\x00")),
        ("offset before the batch", record_of(offset=b"\x01")),
        ("offset after the batch", record_of(offset=b"\x02")),
        ("offset of too many bits", record_of(offset=b"\xff\xff\xff\xff\x7f")),
        ("timestamp of too many bits", record_of(timestamp=b"\xff" * 10)),
        ("number cut short", b"\x0c\x00\x00\x00\x01\x01\x80"),
    ],
)
def test_a_wrong_record_is_corrupt(wrong: str, record: bytes) -> None:
    with pytest.raises(CorruptBatch):
        read(batch_of(record))
    second = record_of(offset=b"\x02")
    with pytest.raises(CorruptBatch):
        read(batch_of(record, second))


def test_more_headers_than_the_maximum_are_corrupt() -> None:
    count = ARRAY_ITEMS_MAX + 1
    with pytest.raises(CorruptBatch):
        read(batch_of(record_of(headers=encode_varint(count) + b"\x00\x01" * count)))


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ("more records than there are", {"record_count": 3}),
        ("fewer records than there are", {"record_count": 1}),
        ("no records", {"record_count": 0}),
        ("records by the billion", {"record_count": (1 << 31) - 1}),
        ("a negative count", {"record_count": -1}),
        ("fewer offsets than there are", {"last_offset_delta": 0}),
        ("a negative last offset", {"last_offset_delta": -1}),
        ("offsets beyond 64 bits", {"base_offset": (1 << 63) - 1}),
        ("a length too short", {"batch_length": 50}),
        ("a length too long", {"batch_length": 5_000}),
        ("a negative length", {"batch_length": -1}),
        ("an older format", {"magic": 1}),
        ("an unknown format", {"magic": -7}),
    ],
)
def test_a_wrong_header_is_corrupt(wrong: str, fields: dict[str, int]) -> None:
    batch = batch_of(record_of(), record_of(offset=b"\x02"), **fields)
    with pytest.raises(CorruptBatch):
        read(batch)


def test_offsets_that_repeat_are_corrupt() -> None:
    with pytest.raises(CorruptBatch):
        read(batch_of(record_of(), record_of()))


@pytest.mark.parametrize("compression", range(5))
def test_every_truncation_is_corrupt(compression: int) -> None:
    batch = build_batch(RECORDS, compression=compression)
    for length in range(len(batch)):
        with pytest.raises(CorruptBatch):
            read(batch[:length])


def test_an_unknown_compression_is_refused() -> None:
    batch = build_batch(RECORDS)
    batch[ATTRIBUTES_AT + 1] = 6
    with pytest.raises(UnsupportedCompression):
        read(batch)


@pytest.mark.parametrize("compression", range(5))
def test_a_batch_larger_than_allowed_is_refused(compression: int) -> None:
    batch = build_batch([Record(value=b"x" * 10_000)], compression=compression)
    with pytest.raises(BatchTooLarge):
        list(iter_records(batch, decompressed_bytes_max=10_000))


@pytest.mark.parametrize("compression", range(5))
def test_keys_are_read_without_their_values(compression: int) -> None:
    batch = build_batch(RECORDS, compression=compression, base_offset=10)
    views = list(iter_keys(batch, decompressed_bytes_max=MIB))
    assert [view[:3] for view in views] == [
        (10, b"key", False),
        (11, None, False),
        (12, b"", True),
    ]
    plain = build_batch(RECORDS)
    assert b"".join(raw for *_, raw in views) == plain[HEADER_BYTES:]


def test_batches_are_found_one_after_another() -> None:
    batches = [build_batch(RECORDS[:n], base_offset=n, compression=n) for n in (1, 2, 3)]
    found = list(iter_batches(b"".join(batches)))
    assert [bytes(view) for _, view in found] == batches
    assert [header for header, _ in found] == [read_header(batch) for batch in batches]
    assert list(iter_batches(b"")) == []


def test_whole_batches_are_found_before_a_torn_one() -> None:
    batch = build_batch(RECORDS)
    for torn in (batch[:1], batch[:HEADER_BYTES], batch[:-1]):
        batches = iter_batches(batch + torn)
        assert next(batches)[1] == batch
        with pytest.raises(CorruptBatch):
            next(batches)


@pytest.mark.parametrize("length", [-1, 0, HEADER_BYTES - LENGTH_PREFIX_BYTES - 1])
def test_a_batch_cannot_be_shorter_than_its_header(length: int) -> None:
    with pytest.raises(CorruptBatch):
        list(iter_batches(batch_of(record_of(), batch_length=length)))


def test_a_batch_of_another_format_is_not_gone_past() -> None:
    batch = build_batch(RECORDS)
    batch[MAGIC_AT] = 1
    with pytest.raises(CorruptBatch):
        list(iter_batches(batch))


def test_sequences_wrap_as_in_kafka() -> None:
    batch = build_batch([Record()] * 3, producer_id=1, base_sequence=(1 << 31) - 2)
    assert read_header(batch).last_sequence == 0
