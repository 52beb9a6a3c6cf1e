"""A Spark stream that counts clicks by page and minute.

Shows: the streaming source, event time with a watermark and a window, and a checkpoint by which a
second run goes on where this one ended. It needs Java 17 and the extra `spark`.

    make run                                       # in another terminal
    .venv/bin/pip install -e '.[spark]' -c constraints.txt
    .venv/bin/python examples/spark_window.py
"""

import os
import sys
import tempfile
import time

# Spark starts its workers with this Python, and would look for another one.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, window

KAFKA = os.environ.get("DUOLOG_KAFKA_LISTEN", "127.0.0.1:9092")
TOPIC = f"clicks-{int(time.time())}"
MINUTE_MS = 60_000
MINUTES = 3
CLICKS = {"home": 4, "prices": 2}
"""By page, in each minute."""


def produce(begin_ms: int) -> None:
    producer = Producer({"bootstrap.servers": KAFKA})
    for minute in range(MINUTES):
        for page, count in CLICKS.items():
            for number in range(count):
                at_ms = begin_ms + minute * MINUTE_MS + number * 1_000
                producer.produce(TOPIC, value=page, timestamp=at_ms)
    assert producer.flush(30) == 0, "some clicks were not acknowledged"


def count(spark: SparkSession, checkpoint: str) -> None:
    """One round through all that is there. Left out, the trigger makes it go on for ever."""
    clicks = (
        spark.readStream.format("duolog")
        .option("kafka.bootstrap.servers", KAFKA)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .load()
    )
    (
        clicks.withWatermark("timestamp", "10 seconds")
        .groupBy(window("timestamp", "1 minute"), col("value").cast("string").alias("page"))
        .count()
        .writeStream.format("memory")
        .queryName("counted")
        .outputMode("complete")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


def main() -> None:
    begin_ms = (int(time.time() * 1000) // MINUTE_MS - MINUTES) * MINUTE_MS
    produce(begin_ms)
    spark = (
        SparkSession.builder.appName("clicks")
        .master("local[2]")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        count(spark, checkpoint)
        rows = spark.table("counted").orderBy("window", "page").collect()
    for row in rows:
        minute = int(row.window.start.timestamp() * 1000 - begin_ms) // MINUTE_MS
        print(f"minute {minute}: {row['count']} clicks on {row.page}")
    spark.stop()


if __name__ == "__main__":
    main()
