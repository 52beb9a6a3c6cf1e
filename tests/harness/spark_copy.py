"""A driver of its own, to be killed: copies a topic to another in small micro-batches, and ends.

python -m tests.harness.spark_copy BROKER SOURCE TARGET CHECKPOINT OFFSETS_PER_BATCH
"""

import sys

from pyspark.sql import SparkSession


def main(broker: str, source: str, target: str, checkpoint: str, offsets_per_batch: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
        .config("spark.python.daemon.module", "pyspark_duolog.daemon")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    rows = (
        spark.readStream.format("duolog")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", offsets_per_batch)
        .load()
    )
    query = (
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
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
