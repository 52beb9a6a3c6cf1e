"""What Spark keeps resident while it works off a backlog: with a large one no more than with
little."""

from collections.abc import Iterator

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
"""Of the backlog, which is still enough for the JVM's heap to grow as far as it may."""
MICRO_BATCHES = 10


def run(stand: Stand) -> Iterator[Row]:
    if why := missing():
        yield skipped("spark/memory", "Spark's resident memory", "rss_mb", why)
        return
    size = stand.scale.backlog_bytes
    with stand.broker("os") as broker, running(stand, cores=CORES, memory=MEMORY) as spark:
        little = _read(stand, broker, spark, "spark-little", int(size * LITTLE_SHARE))
        all_of_it = _read(stand, broker, spark, "spark-backlog", size)
    yield Row(
        "spark/memory",
        f"Spark with {MEMORY} of heap reads {size / 1e9:.1f} GB: resident at most",
        "rss_mb",
        Figures(rss_mb=all_of_it, stored_gb=size / 1e9),
        Figures(rss_mb=little),
        "a tenth of it",
    )


def _read(stand: Stand, broker: Server, spark: Running, topic: str, size: int) -> float:
    """The most that driver, JVM and workers had together, in MB, while they read the topic."""
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
        meanwhile=lambda: readings.append(spark.server.session_rss_mb()),
        format="duolog",
        options=options,
    )
    assert result["rows"] == rows, f"{result['rows']} rows of {rows} were read"
    return max(readings)
