"""A stream of a topic into a sink that does nothing, beside what any Python source could reach."""

from collections.abc import Iterator

from bench import kafka, requests
from bench.batches import encode_batch
from bench.driver import Shape
from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import Sample, summarize
from bench.spark.running import Running, missing, running
from bench.stand import Stand
from bench.workloads.payloads import now_ms

TOPIC = "spark"
VALUE_BYTES = 630
BATCH_RECORDS = 25
"""About 16 KB, the size of a Java producer's batches unless it is told otherwise."""
PARTITIONS = CORES = 2
MEMORY = "1g"
SEGMENT_BYTES = 32 << 20
CEILING_BATCH_ROWS = 10_000
CEILING = "one Arrow batch, repeated"


def run(stand: Stand) -> Iterator[Row]:
    if why := missing():
        yield skipped("spark/read", "Spark streaming read", "mb_per_s", why)
        return
    with stand.broker("os") as broker, running(stand, cores=CORES, memory=MEMORY) as spark:
        batches = stand.scale.bytes_per_run * 2 // (VALUE_BYTES * BATCH_RECORDS * PARTITIONS)
        write(stand, broker, TOPIC, batches)
        rows = batches * BATCH_RECORDS
        options = source_options(broker, TOPIC)
        data = stand.directory / "broker-os"
        segments = options | {"readMode": "segments", "dataDirectory": str(data.resolve())}
        plain = {"partitions": str(PARTITIONS), "rows": str(rows)}
        per_record = plain | {"servers": broker.address, "topic": TOPIC}
        repeated = plain | {
            "batch_rows": str(CEILING_BATCH_ROWS),
            "value_bytes": str(VALUE_BYTES),
        }
        ours, sealed, aiokafka, ceiling = stand.interleave(
            "spark: streaming read",
            lambda _: _read(spark, broker, "duolog", options, rows),
            lambda _: _read(spark, broker, "duolog", segments, rows),
            lambda _: _read(spark, broker, "per_record", per_record, rows),
            lambda _: _read(spark, broker, "repeated", repeated, rows),
            # A JVM that has just collected garbage, or is about to, is another one.
            rotated=True,
        )
    for name, title, samples in (
        ("broker", "through the broker", ours),
        ("segments", "of sealed segments", sealed),
        ("aiokafka", "by aiokafka, record by record", aiokafka),
    ):
        yield Row(
            f"spark/read/{name}",
            f"Spark streaming read {title}, {VALUE_BYTES} B",
            "mb_per_s",
            summarize(samples),
            summarize(ceiling),
            CEILING,
        )


def source_options(broker: Server, topic: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": broker.address,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }


def write(stand: Stand, broker: Server, topic: str, batches_each: int) -> None:
    """So many batches for each partition of a new topic."""
    kafka.create_topic(
        broker.host_and_port,
        topic,
        partitions=PARTITIONS,
        configs={"segment.bytes": str(SEGMENT_BYTES)},
    )
    batch = encode_batch([b"x" * VALUE_BYTES] * BATCH_RECORDS, timestamp_ms=now_ms())
    shape = Shape(
        count=batches_each * PARTITIONS,
        seconds_max=stand.scale.seconds_max * 5,
        depth=16,
        partitions=PARTITIONS,
    )
    written = stand.send(broker, requests.produce(topic, batch, acks=1), shape)
    assert written.requests == shape.count, "the disk was too slow to write the topic in time"


def _read(
    spark: Running, broker: Server, source: str, options: dict[str, str], rows: int
) -> Sample:
    sample = spark.measured(broker, VALUE_BYTES, "read", format=source, options=options)
    assert sample.messages == rows * PARTITIONS, f"{source} read {sample.messages} rows"
    return sample
