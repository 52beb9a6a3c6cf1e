"""Messages, losses and duplicates of each numbering producer. Pure: frames to frames."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_BY = ("topic", "producer")


def producers(
    rows: DataFrame, losses: DataFrame, duplicates: DataFrame, whole: DataFrame
) -> DataFrame:
    seen = rows.groupBy(*_BY).agg(
        F.count("*").alias("messages"),
        F.count_if(F.col("sequence").isNull()).alias("unnumbered"),
        F.min("sequence").alias("first_sequence"),
        F.max("sequence").alias("last_sequence"),
    )
    lost = losses.groupBy(*_BY).agg(F.sum("missing").alias("missing"))
    again = duplicates.groupBy(*_BY).agg(F.count("*").alias("duplicates"))
    joined = seen.join(lost, list(_BY), "left").join(again, list(_BY), "left")
    return joined.join(F.broadcast(whole), "topic", "left").na.fill(
        0, subset=["missing", "duplicates"]
    )
