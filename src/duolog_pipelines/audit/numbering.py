"""Losses and duplicates, by the numbers that producers give their messages. Pure.

A producer that wants to be audited names itself in the header `duolog-producer` and counts its
messages to a topic or queue in the header `duolog-sequence`: 0, 1, 2, …, one number for each
message. Through SQS both are message attributes, of the type String or Number.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

PRODUCER = "duolog-producer"
SEQUENCE = "duolog-sequence"
MOVED = "duolog.move"
"""Header of a message moved from another queue, where it was counted already."""

LOSSES = StructType(
    [
        StructField("topic", StringType()),
        StructField("producer", StringType()),
        StructField("bucket", TimestampType()),
        StructField("first_missing", LongType()),
        StructField("last_missing", LongType()),
        StructField("missing", LongType()),
    ]
)
DUPLICATES = StructType(
    [
        StructField("topic", StringType()),
        StructField("producer", StringType()),
        StructField("bucket", TimestampType()),
        StructField("sequence", LongType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
    ]
)


def numbered(records: DataFrame) -> DataFrame:
    """Records of producers that number theirs; `sequence` is null if it is not a number."""
    sequence = _header(SEQUENCE).cast("string").try_cast("bigint")
    return (
        records.where(_header(PRODUCER).isNotNull() & _header(MOVED).isNull())
        .withColumn("producer", _header(PRODUCER).cast("string"))
        .withColumn("sequence", F.when(sequence >= 0, sequence))
        .select("topic", "producer", "sequence", "partition", "offset", "timestamp")
    )


def _header(name: str) -> Column:
    """The header's bytes; null if the record has none of that name."""
    found = F.filter("headers", lambda each: each["key"] == name)
    return F.coalesce(F.get(found, F.lit(0))["value"], F.when(F.size(found) > 0, F.lit(b"")))


def _in_line(rows: DataFrame) -> DataFrame:
    """Each row with the previous number of its producer, the first copy of a message first."""
    line = Window.partitionBy("topic", "producer").orderBy(
        "sequence", "timestamp", "partition", "offset"
    )
    return (
        rows.where("sequence IS NOT NULL")
        .withColumn("before", F.lag("sequence").over(line))
        .withColumn("neighbour", F.lag("timestamp").over(line))
    )


def losses(rows: DataFrame, whole: DataFrame, bucket_seconds: int) -> DataFrame:
    """Numbers that are missing between the first and the last of a producer.

    A loss is in the bucket of the message with the number before it. `whole` gives the time since
    when nothing was removed from a topic (see wholeness.py): older gaps are no losses, as the
    messages may have been there.
    """
    is_certain = F.col("whole_since").isNull() | (F.col("neighbour") > F.col("whole_since"))
    return (
        _in_line(rows)
        .where("sequence - before > 1")
        .join(F.broadcast(whole), "topic", "left")
        .where(is_certain)
        .select(
            "topic",
            "producer",
            bucket(F.col("neighbour"), bucket_seconds).alias("bucket"),
            (F.col("before") + 1).alias("first_missing"),
            (F.col("sequence") - 1).alias("last_missing"),
            (F.col("sequence") - F.col("before") - 1).alias("missing"),
        )
    )


def duplicates(rows: DataFrame, bucket_seconds: int) -> DataFrame:
    """Messages whose number came before, each in the bucket of its own time."""
    return (
        _in_line(rows)
        .where("sequence = before")
        .select(
            "topic",
            "producer",
            bucket(F.col("timestamp"), bucket_seconds).alias("bucket"),
            "sequence",
            "partition",
            "offset",
            "timestamp",
        )
    )


def bucket(time: Column, seconds: int) -> Column:
    """Start of the time bucket that contains `time`."""
    return F.timestamp_seconds(F.floor(F.unix_seconds(time) / seconds) * seconds)
