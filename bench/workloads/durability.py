"""What fsync costs beside os mode, and beside the disk's own fdatasync."""

from collections.abc import Iterator

from bench import requests
from bench.disk import fdatasync_sample
from bench.driver import Shape
from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.librdkafka import NOT_INSTALLED, Case
from bench.workloads.payloads import MEGABYTE_RECORDS, megabyte, one_record

FDATASYNCS = 1000
LONE_REQUESTS_MAX = 20_000
FLOOR = "uvloop + fdatasync"


def run(stand: Stand) -> Iterator[Row]:
    yield from with_librdkafka(stand)
    yield from lone_request(stand)
    yield megabyte_batches(stand)


def with_librdkafka(stand: Stand) -> Iterator[Row]:
    case = Case("1KB", "default")
    title = f"produce {case.title}"
    if stand.tools.rdkafka_load is None:
        yield skipped("fsync/1KB/fsync", f"{title}, fsync", "mb_per_s", NOT_INSTALLED)
        return
    traffic = case.traffic(stand.scale)

    def produce(server: Server, number: int) -> Sample:
        with stand.topic(server, f"fsync-{number}") as topic:
            return stand.librdkafka("produce", server, topic, traffic)

    with stand.broker("os") as quick, stand.broker("fsync") as safe:
        in_os, in_fsync = stand.interleave(
            f"{title}, os and fsync", lambda n: produce(quick, n), lambda n: produce(safe, n)
        )
    base, ours = summarize(in_os), summarize(in_fsync)
    yield Row("fsync/1KB/os", f"{title}, os", "mb_per_s", base)
    yield Row("fsync/1KB/fsync", f"{title}, fsync", "mb_per_s", ours, base, "os mode")


def lone_request(stand: Stand) -> Iterator[Row]:
    title = "lone one-record Produce"
    batch = one_record()
    shape = Shape(LONE_REQUESTS_MAX, stand.scale.seconds_per_run)

    def send(server: Server, number: int) -> Sample:
        with stand.topic(server, f"lone-{number}") as topic:
            return stand.send(server, requests.produce(topic, batch), shape)

    with stand.broker("os") as quick, stand.broker("fsync") as safe, stand.floor("fsync") as floor:
        in_os, in_fsync, bare, disk = stand.interleave(
            f"{title}, os and fsync",
            lambda n: send(quick, n),
            lambda n: send(safe, n),
            lambda n: send(floor, n),
            lambda n: fdatasync_sample(stand.directory, append_bytes=len(batch), times=FDATASYNCS),
        )
    ours, least = summarize(in_fsync), summarize(bare)
    yield Row("fsync/lone/os", f"{title}, os", "p99_us", summarize(in_os))
    yield Row("fsync/lone/fsync", f"{title}, fsync", "p99_us", ours, least, FLOOR)
    yield Row("fsync/fdatasync", "append + fdatasync, no server", "p99_us", summarize(disk))


def megabyte_batches(stand: Stand) -> Row:
    title = "produce 1 MB batches, fsync"
    batch = megabyte()
    shape = Shape(
        count=stand.scale.bytes_per_run // len(batch),
        seconds_max=stand.scale.seconds_max,
        connections=2,
        depth=2,
        records=MEGABYTE_RECORDS,
    )

    def send(server: Server, number: int) -> Sample:
        with stand.topic(server, f"synced-{number}") as topic:
            return stand.send(server, requests.produce(topic, batch), shape)

    with stand.broker("fsync") as broker, stand.floor("fsync") as floor:
        ours, bare = stand.interleave(title, lambda n: send(broker, n), lambda n: send(floor, n))
    return Row("fsync/1MB", title, "mb_per_s", summarize(ours), summarize(bare), FLOOR)
