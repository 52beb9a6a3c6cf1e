"""Throughput of producing: bare 1 MB batches, and librdkafka as clients use it."""

from collections.abc import Iterator

from bench import requests
from bench.driver import Shape
from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.librdkafka import NOT_INSTALLED, Case, cases
from bench.workloads.payloads import MEGABYTE_RECORDS, megabyte

CONNECTIONS, DEPTH = 2, 2
"""Enough that the server always has the next request at hand."""


def run(stand: Stand) -> Iterator[Row]:
    """A new broker for each, so that no row depends on what the rows before it left behind."""
    for partitions in (1, 8):
        with stand.broker("os") as broker:
            yield megabyte_batches(stand, broker, partitions)
    for case in cases(stand.scale):
        with stand.broker("os") as broker:
            yield with_librdkafka(stand, broker, case)


def megabyte_batches(stand: Stand, broker: Server, partitions: int) -> Row:
    spread = "1 partition" if partitions == 1 else f"{partitions} partitions"
    key, title = f"produce/1MB/{partitions}p", f"produce 1 MB batches, {spread}"
    batch = megabyte()
    shape = Shape(
        count=stand.scale.bytes_per_run // len(batch),
        seconds_max=stand.scale.seconds_max,
        connections=CONNECTIONS,
        depth=DEPTH,
        partitions=partitions,
        records=MEGABYTE_RECORDS,
    )

    def send(server: Server, number: int) -> Sample:
        with stand.topic(server, f"{key}-{number}", partitions) as topic:
            return stand.send(server, requests.produce(topic, batch, acks=1), shape)

    with stand.floor("write") as floor:
        ours, bare = stand.interleave(title, lambda n: send(broker, n), lambda n: send(floor, n))
    return Row(key, title, "mb_per_s", summarize(ours), summarize(bare), "uvloop + pwritev")


def with_librdkafka(stand: Stand, broker: Server, case: Case) -> Row:
    key, title = f"produce/{case.name}", f"produce {case.title}"
    if stand.tools.rdkafka_load is None:
        return skipped(key, title, "mb_per_s", NOT_INSTALLED)
    traffic = case.traffic(stand.scale)

    def produce(server: Server, number: int) -> Sample:
        with stand.topic(server, f"{key}-{number}", case.partitions) as topic:
            return stand.librdkafka("produce", server, topic, traffic)

    with stand.mock(case.partitions) as mock:
        ours, mocked = stand.interleave(
            title, lambda n: produce(broker, n), lambda n: produce(mock, n)
        )
    return Row(key, title, "mb_per_s", summarize(ours), summarize(mocked), "librdkafka's mock")
