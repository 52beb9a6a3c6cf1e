"""What the tests of the log share: batches, and the few steps that an owner of a log takes."""

from dataclasses import replace
from typing import Any

from tests.fakes.disk import FakeDisk

from duolog.config.topic import TopicConfig
from duolog.log.log import Log
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.record import Record

PATH = "orders-0"
NOW_MS = 1_700_000_000_000

SMALL = TopicConfig(segment_bytes=600, index_interval_bytes=150, retention_ms=-1)
"""A few batches fill a segment, and not each of them gets an index entry."""


def batch_of(
    *values: bytes, timestamp: int = NOW_MS, key: bytes | None = b"k", **more: Any
) -> bytearray:
    records = [Record(key, value, timestamp=timestamp) for value in values]
    return build_batch(records, **more)


def keyed(*pairs: tuple[bytes, bytes | None], timestamp: int = NOW_MS, **more: Any) -> bytearray:
    return build_batch([Record(key, value, timestamp=timestamp) for key, value in pairs], **more)


def open_log(
    disk: FakeDisk, config: TopicConfig = SMALL, *, recovery_point: int = 0, now_ms: int = NOW_MS
) -> Log:
    return Log.open(disk, PATH, config, recovery_point=recovery_point, now_ms=now_ms)


def append(log: Log, *batches: bytearray, now_ms: int = NOW_MS, epoch: int = 0) -> list[bytes]:
    """Append with one write; returns the batches as stored."""
    if len(batches) == 1:
        log.append(memoryview(batches[0]), read_header(batches[0]), epoch, now_ms)
    else:
        for batch in batches:
            log.stage(memoryview(batch), read_header(batch), epoch)
        log.write_staged(now_ms)
    return [bytes(batch) for batch in batches]


def sync(log: Log) -> None:
    targets, end_offset = log.begin_sync()
    for target in targets:
        target.sync()
    log.finish_sync(end_offset)


def fill(
    log: Log, count: int, *, size: int = 40, now_ms: int = NOW_MS, epoch: int = 0
) -> list[bytes]:
    """Append that many batches of one record, each with a write of its own."""
    stored = []
    for number in range(count):
        value = b"%d:" % (log.end_offset + number) + b"x" * size
        stored += append(log, batch_of(value, timestamp=now_ms), now_ms=now_ms, epoch=epoch)
    return stored


def contents(log: Log, *, bytes_max: int = 1 << 20, end_offset: int | None = None) -> list[bytes]:
    """Every batch that can be read, from the start to the end."""
    found: list[bytes] = []
    offset = log.start_offset
    end_offset = log.end_offset if end_offset is None else end_offset
    while (part := log.read(offset, bytes_max, end_offset)) is not None:
        data = part.file.pread(part.length, part.position)
        assert len(data) == part.length
        while data:
            size = read_header(data).size
            assert size <= len(data), "a slice holds whole batches"
            found.append(data[:size])
            data = data[size:]
        assert part.next_offset > offset
        offset = part.next_offset
    return found


def with_config(log: Log, **changes: Any) -> None:
    log.config = replace(log.config, **changes)


def log_files(disk: FakeDisk) -> list[str]:
    return [name for name in disk.list_names(PATH) if name.endswith(".log")]
