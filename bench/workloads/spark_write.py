"""Rows that Spark makes, written to one node: encoded by the tasks, sent by the driver."""

from collections.abc import Iterator

from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import Sample, summarize
from bench.spark.running import Running, missing, running
from bench.stand import Stand
from bench.workloads.spark_read import CORES, MEMORY, PARTITIONS, VALUE_BYTES


def run(stand: Stand) -> Iterator[Row]:
    title = f"Spark write, {VALUE_BYTES} B"
    if why := missing():
        yield skipped("spark/write", title, "messages_per_s", why)
        return
    with stand.broker("os") as broker, running(stand, cores=CORES, memory=MEMORY) as spark:
        rows = stand.scale.bytes_per_run * 2 // VALUE_BYTES
        (ours,) = stand.interleave(title, lambda n: _write(stand, broker, spark, rows, n))
    yield Row("spark/write", title, "messages_per_s", summarize(ours))


def _write(stand: Stand, broker: Server, spark: Running, rows: int, number: int) -> Sample:
    with stand.topic(broker, f"spark-write-{number}", PARTITIONS) as topic:
        options = {"kafka.bootstrap.servers": broker.address, "topic": topic}
        return spark.measured(
            broker, VALUE_BYTES, "write", rows=rows, value_bytes=VALUE_BYTES, options=options
        )
