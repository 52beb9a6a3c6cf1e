"""Load measured from the records of a time window. Pure: frames to frames.

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
"""Limit of hot keys per topic."""
KEY_BYTES_MAX = 256
"""Shown bytes of a key; longer keys are still told apart."""

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
    """Records as the connector reads them, with the size of key and value instead of the value."""
    size = F.coalesce(F.octet_length("key"), F.lit(0)) + F.coalesce(
        F.octet_length("value"), F.lit(0)
    )
    return records.select("topic", "partition", "key", size.cast("long").alias("bytes"))


def partition_loads(records: DataFrame, known: DataFrame, seconds: float) -> DataFrame:
    """Load of every known partition, also of those without new records.

    `skew` is the partition's multiple of its topic's mean; `share` is its part of the topic.
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
    """Keys with at least that share of their topic's records, up to HOT_KEYS_MAX for each topic."""
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
    """Growth of each queue, topic and node, from the nodes' samples of stored bytes.

    `lines` are the `store` lines of `__usage`, whose bytes are samples. Growth is the slope of the
    regression line through a node's samples; nodes sample at different times, so each has a line of
    its own.
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
    """Substitute for `growth` without usage lines: the window's inflow, as if nothing was removed.

    It has no samples.
    """
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
