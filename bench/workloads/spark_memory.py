"""What Spark keeps in memory while it works off a backlog: with a large one no more than with
little.

How much of its heap a JVM has touched is luck. So all of it is resident from the start; what is
kept is what is resident without what is free of the heap once garbage has been collected.
"""

from collections.abc import Iterator
from typing import NamedTuple

from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import Figures
from bench.spark.running import Running, missing, running
from bench.stand import Stand
from bench.workloads.spark_read import (
    BATCH_RECORDS,
    CORES,
    MEMORY,
    PARTITIONS,
    VALUE_BYTES,
    source_options,
    write,
)

LITTLE_SHARE = 0.1
"""Of the backlog, which is still enough for all code to be loaded and compiled."""
MICRO_BATCHES = 10
COLLECT_SECONDS = 1


class Memory(NamedTuple):
    """Of driver, JVM and workers together, in MB, at most."""

    resident_mb: float
    kept_mb: float


def run(stand: Stand) -> Iterator[Row]:
    if why := missing():
        yield skipped("spark/memory", "Spark's resident memory", "rss_mb", why)
        return
    size = stand.scale.backlog_bytes
    with (
        stand.broker("os") as broker,
        running(stand, cores=CORES, memory=MEMORY, is_touched=True) as spark,
    ):
        little = _read(stand, broker, spark, "spark-little", int(size * LITTLE_SHARE))
        all_of_it = _read(stand, broker, spark, "spark-backlog", size)
    title = f"Spark with {MEMORY} of heap reads {size / 1e9:.1f} GB"
    for key, what, ours, floor in (
        ("spark/memory", "resident", all_of_it.resident_mb, little.resident_mb),
        ("spark/memory/kept", "kept, without free heap,", all_of_it.kept_mb, little.kept_mb),
    ):
        yield Row(
            key,
            f"{title}: {what} at most",
            "rss_mb",
            Figures(rss_mb=ours, stored_gb=size / 1e9),
            Figures(rss_mb=floor),
            "a tenth of it",
        )


def _read(stand: Stand, broker: Server, spark: Running, topic: str, size: int) -> Memory:
    batches = size // (VALUE_BYTES * BATCH_RECORDS * PARTITIONS)
    rows = batches * BATCH_RECORDS * PARTITIONS
    stand.progress(f"{topic}: writing {size / 1e9:.1f} GB")
    write(stand, broker, topic, batches)
    options = source_options(broker, topic)
    options["maxOffsetsPerTrigger"] = str(rows // MICRO_BATCHES)
    readings: list[float] = []
    stand.progress(f"{topic}: reading")
    result = spark.run(
        "read",
        meanwhile=lambda: readings.append(spark.server.session_resident_mb()),
        format="duolog",
        options=options,
        collect_seconds=COLLECT_SECONDS,
    )
    assert result["rows"] == rows, f"{result['rows']} rows of {rows} were read"
    return Memory(max(readings), max(readings) - result["free_heap_mb"])
