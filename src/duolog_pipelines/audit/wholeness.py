"""Time since when nothing was removed from a topic. Pure.

Retention, compaction, and the deletion of a queue's messages leave holes. The records in a hole
were older than the record behind it, so a number missing before that may have been there. Losses
are found only after the last hole.
"""

from datetime import UTC, datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
_AT = ("topic", "partition")


def whole_since(records: DataFrame, ends: DataFrame) -> DataFrame:
    """By topic, the time of the last record behind a hole; null without a hole.

    `ends` has the end offset of every partition. A hole at the end means that the topic is never
    whole.
    """
    line = Window.partitionBy(*_AT).orderBy("offset")
    before = F.coalesce(F.lag("offset").over(line), F.lit(-1))
    marked = records.select(*_AT, "offset", "timestamp").withColumn("before", before)
    found = marked.groupBy(*_AT).agg(
        F.max("offset").alias("last"),
        F.max(F.when(F.col("offset") - F.col("before") > 1, F.col("timestamp"))).alias("since"),
    )
    is_cut = F.coalesce("last", F.lit(-1)) + 1 < F.col("end_offset")
    return (
        ends.join(found, list(_AT), "left")
        .withColumn("since", F.when(is_cut, F.lit(NEVER)).otherwise(F.col("since")))
        .groupBy("topic")
        .agg(F.max("since").alias("whole_since"))
    )
