"""A query that copies a topic to another in small micro-batches, and ends.

As a program it is a driver of its own, to be killed or to run on a cluster:

python -m tests.harness.spark_copy MASTER BROKER SOURCE TARGET CHECKPOINT OFFSETS_PER_BATCH
"""

import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

ROOT = Path(__file__).parents[2]
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def copying(
    spark: SparkSession,
    broker: str,
    source: str,
    target: str,
    checkpoint: str,
    offsets_per_batch: str,
) -> StreamingQuery:
    rows = (
        spark.readStream.format("duolog")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", offsets_per_batch)
        .load()
    )
    return (
        # A shuffle, after which rows come in another order each time.
        rows.select("key", "value")
        .repartition(2)
        .writeStream.format("duolog")
        .option("kafka.bootstrap.servers", broker)
        .option("topic", target)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )


def start_driver(master: str, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
    """In a process group of its own, with the JVM and the Python workers that it starts."""
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.harness.spark_copy", master, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )


def main(master: str, *arguments: str) -> None:
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", JAVA_OPTIONS)
        # Nothing is begun before every worker of a cluster has its executor.
        .config("spark.cores.max", "2")
        .config("spark.scheduler.minRegisteredResourcesRatio", "1")
        .config("spark.python.daemon.module", "pyspark_duolog.daemon")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    copying(spark, *arguments).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
