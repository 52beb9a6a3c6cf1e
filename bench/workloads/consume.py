"""Throughput of consuming what the page cache holds, against a bare sendfile server."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench import requests
from bench.driver import Shape
from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import summarize
from bench.stand import Stand
from bench.workloads.librdkafka import NOT_INSTALLED, Case, cases
from bench.workloads.payloads import MEGABYTE_RECORDS, megabyte

CONNECTIONS, DEPTH = 2, 2
LOG_BATCHES = 256
"""Reading starts anew after this many megabytes."""
LIBRDKAFKA_FETCH_BYTES = 1 << 20
"""What it asks for of a partition by default."""
FLOOR = "uvloop + sendfile"


def run(stand: Stand) -> Iterator[Row]:
    with stand.broker("os") as broker:
        with sendfile_floor(stand, len(megabyte())) as floor:
            for partitions in (1, 8):
                yield megabyte_fetches(stand, broker, floor, partitions)
        with sendfile_floor(stand, LIBRDKAFKA_FETCH_BYTES) as floor:
            for case in cases(stand.scale):
                yield with_librdkafka(stand, broker, floor, case)


def megabyte_fetches(stand: Stand, broker: Server, floor: Server, partitions: int) -> Row:
    spread = "1 partition" if partitions == 1 else f"{partitions} partitions"
    key, title = f"consume/1MB/{partitions}p", f"fetch 1 MB, {spread}"
    batch = megabyte()
    seconds_max = stand.scale.seconds_max
    writes = Shape(LOG_BATCHES, seconds_max, partitions=partitions)
    reads = Shape(
        count=stand.scale.bytes_per_run // len(batch),
        seconds_max=seconds_max,
        connections=CONNECTIONS,
        depth=DEPTH,
        partitions=partitions,
        records=MEGABYTE_RECORDS,
        fetch_rounds=LOG_BATCHES // partitions,
        response_bytes_min=len(batch),
    )
    with stand.topic(broker, key, partitions) as topic:
        stand.send(broker, requests.produce(topic, batch, acks=1), writes)
        fetch = requests.fetch(topic, max_bytes=len(batch))
        ours, bare = stand.interleave(
            title,
            lambda n: stand.send(broker, fetch, reads),
            lambda n: stand.send(floor, fetch, reads),
        )
    return Row(key, title, "mb_per_s", summarize(ours), summarize(bare), FLOOR)


def with_librdkafka(stand: Stand, broker: Server, floor: Server, case: Case) -> Row:
    """The floor is driven by load.c: it answers bytes, which librdkafka could not read."""
    key, title = f"consume/{case.name}", f"consume {case.title}"
    if stand.tools.rdkafka_load is None:
        return skipped(key, title, "mb_per_s", NOT_INSTALLED)
    traffic = case.traffic(stand.scale)
    pieces = Shape(
        count=traffic.count * traffic.size_bytes // LIBRDKAFKA_FETCH_BYTES,
        seconds_max=stand.scale.seconds_max,
        connections=CONNECTIONS,
        depth=DEPTH,
        response_bytes_min=LIBRDKAFKA_FETCH_BYTES,
    )
    with stand.topic(broker, key, case.partitions) as topic:
        stand.librdkafka("produce", broker, topic, traffic)
        fetch = requests.fetch(topic, max_bytes=LIBRDKAFKA_FETCH_BYTES)
        ours, bare = stand.interleave(
            title,
            lambda n: stand.librdkafka("consume", broker, topic, traffic),
            lambda n: stand.send(floor, fetch, pieces),
        )
    return Row(key, title, "mb_per_s", summarize(ours), summarize(bare), FLOOR)


@contextmanager
def sendfile_floor(stand: Stand, piece_bytes: int) -> Iterator[Server]:
    source = stand.directory / "floor-source.log"
    with source.open("wb") as file:
        for _ in range(LOG_BATCHES):
            file.write(bytes(piece_bytes))
    try:
        with stand.floor("read", "--source", source, "--piece-bytes", str(piece_bytes)) as floor:
            yield floor
    finally:
        source.unlink()
