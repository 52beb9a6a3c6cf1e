"""What records of a stretch of time say of the load. Pure: frames to frames.

`records` have topic, partition, key and bytes.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

HOT_KEYS_MAX = 20
"""Of a topic."""
KEY_BYTES_MAX = 256
"""Of a key that are shown; longer ones are told apart all the same."""

PARTITIONS = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("leader", IntegerType()),
        StructField("records", LongType()),
        StructField("bytes", LongType()),
        StructField("bytes_per_second", DoubleType()),
        StructField("share", DoubleType()),
        StructField("skew", DoubleType()),
        StructField("stored_records", LongType()),
        StructField("stored_bytes", LongType()),
        StructField("measured_ms", LongType()),
    ]
)
HOT_KEYS = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("key", BinaryType()),
        StructField("records", LongType()),
        StructField("bytes", LongType()),
        StructField("share", DoubleType()),
    ]
)
GROWTH = StructType(
    [
        StructField("kind", StringType()),
        StructField("name", StringType()),
        StructField("bytes", LongType()),
        StructField("bytes_per_day", DoubleType()),
        StructField("samples", LongType()),
    ]
)


def sized(records: DataFrame) -> DataFrame:
    """Records as the connector reads them."""
    size = F.coalesce(F.octet_length("key"), F.lit(0)) + F.coalesce(
        F.octet_length("value"), F.lit(0)
    )
    return records.select("topic", "partition", "key", size.cast("long").alias("bytes"))


def partition_loads(records: DataFrame, known: DataFrame, seconds: float) -> DataFrame:
    """Every known partition, also those to which nothing came.

    `skew` is how many times the mean of its topic a partition has; `share` is its part of it.
    """
    came = records.groupBy("topic", "partition").agg(
        F.count("*").alias("records"), F.sum("bytes").alias("bytes")
    )
    loads = known.join(came, ["topic", "partition"], "left").na.fill(0, subset=["records", "bytes"])
    topic = Window.partitionBy("topic")
    total, mean = F.sum("bytes").over(topic), F.avg("bytes").over(topic)
    return (
        loads.withColumn("bytes_per_second", F.col("bytes") / F.lit(seconds))
        .withColumn("share", F.when(total > 0, F.col("bytes") / total))
        .withColumn("skew", F.when(mean > 0, F.col("bytes") / mean))
    )


def hot_keys(records: DataFrame, share_min: float) -> DataFrame:
    """Keys that have at least such a part of their topic's records; few of each topic."""
    counted = records.groupBy("topic", "partition", "key").agg(
        F.count("*").alias("records"), F.sum("bytes").alias("bytes")
    )
    share = F.col("records") / F.sum("records").over(Window.partitionBy("topic"))
    rank = F.row_number().over(
        Window.partitionBy("topic").orderBy(F.desc("records"), "partition", "key")
    )
    return (
        counted.withColumn("share", share)
        .where(F.col("key").isNotNull() & (F.col("share") >= share_min))
        .withColumn("rank", rank)
        .where(F.col("rank") <= HOT_KEYS_MAX)
        .select(
            "topic",
            "partition",
            F.substring("key", 1, KEY_BYTES_MAX).alias("key"),
            "records",
            "bytes",
            "share",
        )
    )


def growth(lines: DataFrame) -> DataFrame:
    """By what nodes wrote down of what is stored: each queue, topic and node.

    `lines` are those of `__usage` of the operation `store`, whose bytes are a sample. The growth
    is that of the straight line which is nearest to the samples; nodes take theirs at different
    times, so that each of them has a line of its own.
    """
    days = F.col("to_ms") / F.lit(86_400_000.0)
    parts = (
        lines.groupBy("node", "kind", "resource", "to_ms")
        .agg(F.sum("bytes").alias("bytes"))
        .groupBy("node", "kind", "resource")
        .agg(
            F.max_by("bytes", "to_ms").alias("bytes"),
            F.regr_slope(F.col("bytes").cast("double"), days).alias("bytes_per_day"),
            F.count("*").alias("samples"),
        )
    )
    resources = _summed(parts, F.col("kind"), F.col("resource"))
    return resources.unionByName(_summed(parts, F.lit("node"), F.col("node").cast("string")))


def inflow(loads: DataFrame) -> DataFrame:
    """As `growth`, where nodes have written down nothing: what came within the window, as if
    nothing of it went again. It has no samples."""
    days = F.col("bytes_per_second") * 86_400
    parts = loads.select(
        "topic",
        F.col("leader").cast("string").alias("leader"),
        F.col("stored_bytes").alias("bytes"),
        days.alias("bytes_per_day"),
        F.lit(0).cast("long").alias("samples"),
    )
    topics = _summed(parts, F.lit("topic"), F.col("topic"))
    return topics.unionByName(_summed(parts, F.lit("node"), F.col("leader")))


def _summed(parts: DataFrame, kind: Column, name: Column) -> DataFrame:
    return parts.groupBy(kind.alias("kind"), name.alias("name")).agg(
        F.sum("bytes").alias("bytes"),
        F.sum("bytes_per_day").alias("bytes_per_day"),
        F.sum("samples").alias("samples"),
    )
