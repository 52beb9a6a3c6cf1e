"""From when on nothing is missing of what a topic has stored. Pure.

Retention, compaction, and the deletion of a queue's messages leave holes. What lay in a hole
was written before what follows it, so that a number that is missing before that may have been
there once. Losses are found only after the last hole.
"""

from datetime import UTC, datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
_AT = ("topic", "partition")


def whole_since(records: DataFrame, ends: DataFrame) -> DataFrame:
    """By topic, when the last record after a hole was written; null where there is no hole.

    `ends` has the end offset of every partition. Where the hole is at the end, the topic is
    whole at no time.
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
