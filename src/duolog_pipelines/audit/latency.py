"""Latencies of messages, from sending to receiving and to deletion. Pure."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from duolog_pipelines.audit.numbering import bucket

RECEIVE, DELETE = "receive", "delete"
_PERCENTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99}

SCHEMA = StructType(
    [
        StructField("queue", StringType()),
        StructField("bucket", TimestampType()),
        StructField("until", StringType()),
        StructField("messages", LongType()),
        *(StructField(name, DoubleType()) for name in _PERCENTILES),
        StructField("max_ms", LongType()),
    ]
)


def latencies(fates: DataFrame, sent: DataFrame, bucket_seconds: int) -> DataFrame:
    """Latencies by the time of sending; `sent` has queue, partition, offset and timestamp.

    Covers only messages that are still stored.
    """
    known = fates.where("delivered_ms IS NOT NULL OR fate = 'deleted'").join(
        sent, ["queue", "partition", "offset"]
    )
    deleted_ms = F.when(F.col("fate") == "deleted", F.col("ended_ms"))
    parts = [
        known.select(
            "queue",
            bucket(F.col("timestamp"), bucket_seconds).alias("bucket"),
            F.lit(until).alias("until"),
            _since_sent(reached).alias("took_ms"),
        ).where("took_ms IS NOT NULL")
        for until, reached in ((RECEIVE, F.col("delivered_ms")), (DELETE, deleted_ms))
    ]
    return (
        parts[0]
        .unionByName(parts[1])
        .groupBy("queue", "bucket", "until")
        .agg(
            F.count("*").alias("messages"),
            *(
                F.percentile("took_ms", F.lit(part)).alias(name)
                for name, part in _PERCENTILES.items()
            ),
            F.max("took_ms").alias("max_ms"),
        )
    )


def _since_sent(reached_ms: Column) -> Column:
    # Clocks of nodes differ a little; a message received before it was sent counts as 0.
    took_ms = F.greatest(reached_ms - F.unix_millis("timestamp"), F.lit(0))
    return F.when(reached_ms.isNotNull(), took_ms)
