"""Many partitions and much data: start-up after a crash, and memory while it is read back."""

import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from bench import kafka, requests
from bench.driver import Shape
from bench.meter import machine_busy_seconds
from bench.processes import Server
from bench.rows import Row
from bench.samples import Figures
from bench.stand import Stand
from bench.workloads.payloads import MEGABYTE_RECORDS, megabyte

TOPIC = "backlog"
BATCHES_PER_SEGMENT = 2
"""Small segments, so that nearly all of the data is in sealed ones."""
IDLE_SECONDS = 1.0


def run(stand: Stand) -> Iterator[Row]:
    data = stand.directory / "broker-os"
    shutil.rmtree(data, ignore_errors=True)
    try:
        yield from _measure(stand, data)
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _measure(stand: Stand, data: Path) -> Iterator[Row]:
    batch = megabyte()
    partitions = stand.scale.backlog_partitions
    segment_bytes = BATCHES_PER_SEGMENT * len(batch)
    sealed_each = math.ceil(stand.scale.backlog_bytes / partitions / segment_bytes)
    batches_each = sealed_each * BATCHES_PER_SEGMENT + 1

    with stand.broker("os", keep=True) as broker:
        empty = Figures(seconds=broker.ready_seconds)
        time.sleep(IDLE_SECONDS)
        yield Row("backlog/idle", "resident, idle", "rss_mb", Figures(rss_mb=broker.rss_mb()))
        stand.progress(f"backlog: writing {batches_each * partitions * len(batch) / 1e9:.1f} GB")
        _write(stand, broker, batch, batches_each)
        broker.kill()

    stored_gb = sealed_bytes(data) / 1e9
    size = f"{partitions:,} partitions, {stored_gb:.1f} GB sealed"
    stand.progress(f"backlog: starting after SIGKILL with {size}")
    busy_before = machine_busy_seconds()
    with stand.broker("os", keep=True) as broker:
        others = machine_busy_seconds() - busy_before - broker.cpu_seconds()
        started = Figures(
            seconds=broker.ready_seconds,
            rss_mb=broker.rss_mb(),
            stored_gb=stored_gb,
            others_cores=max(others, 0.0) / broker.ready_seconds,
        )
        title = f"start after SIGKILL, {size}"
        yield Row("backlog/start", title, "seconds", started, empty, "empty directory")
        stand.progress("backlog: reading it from the start")
        yield _read(stand, broker, batch, batches_each, stored_gb)


def sealed_bytes(data: Path) -> int:
    """Of every partition all segments but the last, which is the one written to."""
    total = 0
    for partition in data.glob(f"**/{TOPIC}-*"):
        segments = sorted(partition.glob("*.log"))
        total += sum(segment.stat().st_size for segment in segments[:-1])
    return total


def _write(stand: Stand, broker: Server, batch: bytes, batches_each: int) -> None:
    partitions = stand.scale.backlog_partitions
    kafka.create_topic(
        broker.host_and_port,
        TOPIC,
        partitions=partitions,
        configs={"segment.bytes": str(BATCHES_PER_SEGMENT * len(batch))},
    )
    shape = Shape(
        count=batches_each * partitions,
        seconds_max=stand.scale.seconds_max * 5,
        depth=4,
        partitions=partitions,
    )
    written = stand.send(broker, requests.produce(TOPIC, batch, acks=1), shape)
    assert written.requests == shape.count, "the disk was too slow to write the backlog in time"


def _read(stand: Stand, broker: Server, batch: bytes, batches_each: int, stored_gb: float) -> Row:
    partitions, connections = stand.scale.backlog_partitions, stand.scale.backlog_connections
    shape = Shape(
        count=batches_each * partitions,
        seconds_max=stand.scale.seconds_max,
        connections=connections,
        partitions=partitions,
        records=MEGABYTE_RECORDS,
        fetch_rounds=batches_each,
        response_bytes_min=len(batch),
    )
    sample = stand.send(broker, requests.fetch(TOPIC, max_bytes=len(batch)), shape)
    figures = Figures(
        rss_mb=broker.peak_rss_mb(),
        mb_per_s=sample.bytes / 1e6 / sample.seconds,
        cpu_ms_per_mb=sample.cpu_seconds * 1e3 / (sample.bytes / 1e6),
        p99_us=sample.p99_us,
        stored_gb=stored_gb,
        others_cores=sample.others_cores,
    )
    title = f"resident at most, {connections} connections reading {partitions:,} partitions"
    return Row("backlog/reading", title, "rss_mb", figures)
