import json

from duolog.core.usage.keys import Counts, UsageKey, decode_key
from duolog.core.usage.lines import COMPRESSED_FROM_LINES, batch_of, lines_of
from duolog.core.usage.slots import Interval
from duolog.records.header import read_header
from duolog.records.iterator import iter_records

KEY = UsageKey("000000000000", "queue", "orders", "send")


def interval_of(rows: int) -> Interval:
    counts = [(KEY._replace(resource=f"q{number}"), Counts(number + 1)) for number in range(rows)]
    return Interval(17, 1_790_000_000_000, 1_790_000_005_000, 0, counts, {})


def test_a_line_says_all_that_a_bill_needs() -> None:
    interval = interval_of(0)._replace(counts=[(KEY, Counts(4, 40, 40_960, 0, 1))])
    batch = batch_of(lines_of(interval, node=1, journal="ab" * 16), producer_id=3, base_sequence=9)
    (record,) = iter_records(batch, decompressed_bytes_max=1 << 20)
    assert record.key == b"000000000000"
    assert record.timestamp == 1_790_000_005_000
    assert json.loads(record.value or b"") == {
        "version": 1,
        "node": 1,
        "journal": "ab" * 16,
        "sequence": 17,
        "line": 0,
        "lines": 1,
        "from_ms": 1_790_000_000_000,
        "to_ms": 1_790_000_005_000,
        "tenant": "000000000000",
        "kind": "queue",
        "resource": "orders",
        "operation": "send",
        "requests": 4,
        "messages": 40,
        "bytes": 40_960,
        "byte_seconds": 0,
        "errors": 1,
    }


def test_all_lines_of_an_interval_are_one_batch_of_an_idempotent_producer() -> None:
    rows = COMPRESSED_FROM_LINES + 1
    lines = lines_of(interval_of(rows), node=1, journal="ab" * 16)
    batch = batch_of(lines, producer_id=3, base_sequence=9)
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (3, 0, 9)
    found = [
        json.loads(each.value or b"")
        for each in iter_records(batch, decompressed_bytes_max=1 << 20)
    ]
    assert [(each["line"], each["lines"]) for each in found] == [(n, rows) for n in range(rows)]
    assert batch == batch_of(lines, producer_id=3, base_sequence=9)


def test_a_key_is_read_as_it_was_written() -> None:
    assert decode_key(KEY.encode()) == KEY
    assert decode_key(b"\xff\x00a\x00b\x00c") is None
    assert decode_key(b"a\x00b") is None
