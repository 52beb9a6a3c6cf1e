"""Action behind `duolog topic consume`."""

import base64
import sys
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, Row, RowStream, tell
from duolog.cli.positions import Position, Range, parse_range
from duolog.cli.topics.places import chosen_partitions, resolve
from duolog.cli.topics.record_format import Render, compile_format
from duolog.client import consumer
from duolog.client.cluster import Cluster
from duolog.client.consumer import Span
from duolog.client.errors import Endpoint
from duolog.client.offsets import Bounds, TopicPartition, bounds_of
from duolog.records.record import Record

Emit = Callable[[int, list[Record]], None]

_COLUMNS = {"partition": 9, "offset": 10, "timestamp_ms": 13, "key": 16, "value": 0}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Selection of records, and their output format."""

    range: Range
    partitions: list[int]
    """Partitions to read; empty stands for all."""
    count: int | None
    follow: bool
    render: Render | None

    @classmethod
    def parse(
        cls,
        offset: str,
        partitions: list[int] | None,
        count: int | None,
        follow: bool,
        form: str | None,
    ) -> "Wanted":
        return cls(
            parse_range(offset, int(time.time() * 1000)),
            partitions or [],
            count,
            follow,
            None if form is None else compile_format(form),
        )


async def consume(address: Endpoint, topic: str, wanted: Wanted, form: Format) -> None:
    async with Cluster(address) as cluster:
        spans = await _spans(cluster, topic, wanted)
        if all(span.first_offset == span.end_offset for span in spans):
            tell(f"Topic '{topic}' has no records there.")
        if wanted.render is not None:
            await _read(cluster, topic, spans, wanted.count, _raw_printer(topic, wanted.render))
            return
        with RowStream(form, _COLUMNS) as rows:
            await _read(cluster, topic, spans, wanted.count, _row_printer(topic, rows))


async def _spans(cluster: Cluster, topic: str, wanted: Wanted) -> list[Span]:
    partitions = await chosen_partitions(cluster, topic, wanted.partitions)
    bounds = await bounds_of(cluster, [(topic, each) for each in partitions])
    _check_not_beyond(topic, wanted, bounds)
    first_offsets = await resolve(cluster, wanted.range.first, bounds)
    end = wanted.range.end
    if end is None and wanted.follow:
        return [Span(at[1], first_offset) for at, first_offset in first_offsets.items()]
    end_offsets = await resolve(cluster, end or Position("end"), bounds)
    if end is not None and end.kind == "offset" and wanted.follow:
        end_offsets = dict.fromkeys(bounds, end.value)
    return [Span(at[1], first_offsets[at], end_offsets[at]) for at in bounds]


def _check_not_beyond(topic: str, wanted: Wanted, bounds: dict[TopicPartition, Bounds]) -> None:
    """Failure for an offset that has not been written yet, unless somebody waits for it."""
    first, ends = wanted.range.first, [each.end_offset for each in bounds.values()]
    if first.kind == "offset" and not wanted.follow and first.value > max(ends):
        raise Failure(
            f"Offset {first.value} is beyond the end of topic '{topic}': the next one to be"
            f" written is {max(ends)}. Run `duolog topic info {topic}` to see where its partitions"
            " start and end.",
            ExitCode.NOT_FOUND,
        )


async def _read(
    cluster: Cluster, topic: str, spans: list[Span], count: int | None, emit: Emit
) -> None:
    async with aclosing(consumer.consume(cluster, topic, spans)) as chunks:
        async for partition, records, _ in chunks:
            emit(partition, records[:count])
            sys.stdout.flush()
            if count is not None:
                count -= len(records)
                if count <= 0:
                    return


def _row_printer(topic: str, rows: RowStream) -> Emit:
    def emit(partition: int, records: list[Record]) -> None:
        for record in records:
            rows.write(_row(topic, partition, record))

    return emit


def _raw_printer(topic: str, render: Render) -> Emit:
    def emit(partition: int, records: list[Record]) -> None:
        sys.stdout.buffer.writelines(render(topic, partition, record) for record in records)

    return emit


def _row(topic: str, partition: int, record: Record) -> Row:
    return {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        **_content("key", record.key),
        **_content("value", record.value),
        "headers": [{"name": name, **_content("value", value)} for name, value in record.headers],
    }


def _content(name: str, content: bytes | None) -> Row:
    """The content as text; if it is not UTF-8, null, and a field beside it in base64."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {name: None, f"{name}_base64": base64.b64encode(content).decode()}
