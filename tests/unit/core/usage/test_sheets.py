import json

from duolog.core.usage.keys import Counts, UsageKey, decode_key
from duolog.core.usage.sheets import LINES_MAX, batch_of, sheet_count, sheets_of
from duolog.core.usage.slots import Interval
from duolog.records.header import read_header
from duolog.records.iterator import iter_records

KEY = UsageKey("000000000000", "queue", "orders", "send")


def interval_of(rows: int) -> Interval:
    counts = [(KEY._replace(resource=f"q{number}"), Counts(number + 1)) for number in range(rows)]
    return Interval(17, 1_790_000_000_000, 1_790_000_005_000, 0, counts, {})


def test_a_sheet_says_all_that_a_bill_needs() -> None:
    counts = [
        (KEY, Counts(4, 40, 40_960, 0, 1)),
        (KEY._replace(operation="store"), Counts(0, 0, 7, 35)),
    ]
    interval = interval_of(0)._replace(counts=counts)
    sheets = sheets_of(interval, node=1, journal="ab" * 16)
    batch = batch_of(sheets, producer_id=3, base_sequence=9)
    (record,) = iter_records(batch, decompressed_bytes_max=1 << 20)
    assert record.key == b"ab" * 16
    assert record.timestamp == 1_790_000_005_000
    assert json.loads(record.value or b"") == {
        "version": 1,
        "node": 1,
        "journal": "ab" * 16,
        "sequence": 17,
        "part": 0,
        "parts": 1,
        "from_ms": 1_790_000_000_000,
        "to_ms": 1_790_000_005_000,
        "tenant": ["000000000000", "000000000000"],
        "kind": ["queue", "queue"],
        "resource": ["orders", "orders"],
        "operation": ["send", "store"],
        "requests": [4, 0],
        "messages": [40, 0],
        "bytes": [40_960, 7],
        "byte_seconds": [0, 35],
        "errors": [1, 0],
    }


def test_all_lines_of_an_interval_are_one_batch_of_an_idempotent_producer() -> None:
    interval = interval_of(2 * LINES_MAX + 1)
    sheets = sheets_of(interval, node=1, journal="ab" * 16)
    batch = batch_of(sheets, producer_id=3, base_sequence=9)
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (3, 0, 9)
    found = [
        json.loads(each.value or b"")
        for each in iter_records(batch, decompressed_bytes_max=1 << 20)
    ]
    assert [(each["part"], each["parts"]) for each in found] == [(0, 3), (1, 3), (2, 3)]
    assert sheet_count(interval) == header.record_count == 3
    assert [len(each["resource"]) for each in found] == [LINES_MAX, LINES_MAX, 1]
    resources = [name for each in found for name in each["resource"]]
    assert resources == [key.resource for key, _ in interval.counts]
    assert batch == batch_of(sheets, producer_id=3, base_sequence=9)


def test_a_key_is_read_as_it_was_written() -> None:
    assert decode_key(KEY.encode()) == KEY
    assert decode_key(b"\xff\x00a\x00b\x00c") is None
    assert decode_key(b"a\x00b") is None
