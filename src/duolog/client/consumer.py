"""Reads records of a topic: a range of offsets per partition, bounded or endless."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from duolog.client.cluster import RETRY_PAUSES_SECONDS, Cluster, is_passing
from duolog.client.errors import Garbled, Refused, check, code_name
from duolog.model.errors import Refusal
from duolog.records.checksum import is_intact
from duolog.records.header import HEADER_BYTES, read_header
from duolog.records.iterator import iter_batches, iter_records
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey

WAIT_MS = 500
"""Long-poll time of a fetch that finds no records."""
FETCH_BYTES_MAX = 16 << 20
PARTITION_BYTES_MAX = 4 << 20
DECOMPRESSED_BYTES_MAX = 128 << 20

_CONSUMER = -1
_NO_SESSION = {"session_id": 0, "session_epoch": -1}
_ANSWER_SECONDS_MAX = 30.0


class Span(NamedTuple):
    """Range of offsets to read from one partition."""

    partition: int
    first_offset: int
    end_offset: int | None = None
    """End of the range; None: read for ever."""


class Fetched(NamedTuple):
    partition: int
    error: str | None
    high_watermark: int
    batches: bytes
    """Whole batches; the first may begin before the requested offset."""


class Chunk(NamedTuple):
    """Consecutive records of one partition."""

    partition: int
    records: list[Record]
    high_watermark: int


async def consume(
    cluster: Cluster, topic: str, spans: Iterable[Span], *, wait_ms: int = WAIT_MS
) -> AsyncGenerator[Chunk, None]:
    """Reads all spans to their ends, with one fetch in flight per leader.

    Waits for a span's end to be written; never ends if a span has no end.
    """
    left = {span.partition: span for span in spans}
    fetches: dict[asyncio.Task[list[Fetched]], int] = {}
    failures = 0
    try:
        while left := {at: span for at, span in left.items() if not _is_read(span)}:
            for leader, offsets in (await _by_leader(cluster, topic, left)).items():
                if leader not in fetches.values():
                    fetching = fetch(cluster, leader, topic, offsets, wait_ms=wait_ms)
                    fetches[asyncio.create_task(fetching)] = leader
            done, _ = await asyncio.wait(fetches, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                del fetches[task]
                for fetched in task.result():
                    if fetched.error is not None:
                        failures = await _pause(cluster, topic, fetched, failures)
                        continue
                    failures = 0
                    span = left.get(fetched.partition)
                    if span is None:
                        # Its leader changed, and the new one was faster.
                        continue
                    records, next_offset = _records(topic, fetched, span)
                    left[fetched.partition] = span._replace(first_offset=next_offset)
                    if records:
                        yield Chunk(fetched.partition, records, fetched.high_watermark)
    finally:
        for task in fetches:
            task.cancel()
        await asyncio.gather(*fetches, return_exceptions=True)


async def fetch(
    cluster: Cluster,
    leader: int,
    topic: str,
    offsets: Mapping[int, int],
    *,
    wait_ms: int = WAIT_MS,
    bytes_max: int = FETCH_BYTES_MAX,
    partition_bytes_max: int = PARTITION_BYTES_MAX,
) -> list[Fetched]:
    """Sends one Fetch for these partitions and offsets; a long poll if there is no record yet."""
    partitions = [
        {
            "partition": partition,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": partition_bytes_max,
        }
        for partition, offset in offsets.items()
    ]
    fields = {
        "replica_id": _CONSUMER,
        "max_wait": wait_ms,
        "min_bytes": 1,
        "max_bytes": bytes_max,
        "isolation_level": 0,
        **_NO_SESSION,
        "topics": [{"topic": topic, "partitions": partitions}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    seconds_max = wait_ms / 1000 + _ANSWER_SECONDS_MAX
    response = await cluster.call(ApiKey.FETCH, fields, node=leader, seconds_max=seconds_max)
    check(response.error_code, f"topic '{topic}'")
    return [
        Fetched(
            each.partition_index,
            code_name(each.error_code) if int(each.error_code) else None,
            each.high_watermark,
            whole_batches(each.records or b""),
        )
        for answered in response.responses
        for each in answered.partitions
    ]


def _is_read(span: Span) -> bool:
    return span.end_offset is not None and span.first_offset >= span.end_offset


async def _by_leader(
    cluster: Cluster, topic: str, spans: Mapping[int, Span]
) -> dict[int, dict[int, int]]:
    offsets: dict[int, dict[int, int]] = {}
    for partition, span in spans.items():
        leader = await cluster.retry(partial(cluster.leader, topic, partition))
        offsets.setdefault(leader, {})[partition] = span.first_offset
    return offsets


async def _pause(cluster: Cluster, topic: str, fetched: Fetched, failures: int) -> int:
    """Sleeps after a transient refusal and returns the new failure count; raises any other."""
    assert fetched.error is not None
    if not is_passing(fetched.error) or failures >= len(RETRY_PAUSES_SECONDS):
        raise Refused(fetched.error, f"partition {fetched.partition} of topic '{topic}'")
    cluster.forget()
    await asyncio.sleep(RETRY_PAUSES_SECONDS[failures])
    return failures + 1


def whole_batches(data: bytes) -> bytes:
    """Cuts off the incomplete last batch that a broker sends when its answer is full."""
    at = 0
    while len(data) - at >= HEADER_BYTES:
        size = read_header(data, at).size
        if not HEADER_BYTES <= size <= len(data) - at:
            break
        at += size
    return data if at == len(data) else data[:at]


def _records(topic: str, fetched: Fetched, span: Span) -> tuple[list[Record], int]:
    """Records of the span, and the next offset to fetch.

    The next offset follows the last batch, not the last record: compaction may have removed
    records from the batch's end.
    """
    records: list[Record] = []
    next_offset = span.first_offset
    end_offset = span.end_offset
    try:
        for header, batch in iter_batches(fetched.batches):
            if not is_intact(batch):
                raise Garbled(_damaged(topic, fetched.partition, header.base_offset))
            if not header.is_control:
                records += [
                    record
                    for record in iter_records(batch, decompressed_bytes_max=DECOMPRESSED_BYTES_MAX)
                    if record.offset is not None
                    and record.offset >= next_offset
                    and (end_offset is None or record.offset < end_offset)
                ]
            next_offset = max(next_offset, header.next_offset)
    except Refusal as problem:
        where = _damaged(topic, fetched.partition, next_offset)
        raise Garbled(f"{where}: {problem}") from None
    return records, next_offset


def _damaged(topic: str, partition: int, offset: int) -> str:
    return f"the batch at offset {offset} of partition {partition} of topic '{topic}' is damaged"
