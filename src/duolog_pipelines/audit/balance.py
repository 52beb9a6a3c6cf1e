"""Balance of accepted messages against their fates. Pure."""

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from duolog_pipelines.audit.fates import FATES, THERE

ENDS = tuple(dict.fromkeys(FATES.values()))
TALLIED = ("accepted", "delivered", "deliveries", *ENDS, THERE)
SCHEMA = StructType(
    [
        StructField("name", StringType()),
        StructField("kind", StringType()),
        StructField("accepted", LongType()),
        StructField("delivered", LongType()),
        StructField("deliveries", LongType()),
        *(StructField(name, LongType()) for name in ENDS),
        StructField(THERE, LongType()),
        StructField("unaccounted", LongType()),
        StructField("counted", LongType()),
        StructField("since_ms", LongType()),
        StructField("audited_ms", LongType()),
    ]
)
"""Columns of the balance table. In each row accepted = the sum of ENDS + there + unaccounted."""


def tallies(fates: DataFrame, looks: DataFrame) -> DataFrame:
    """Count messages by queue and fate.

    Also counts those that ended since a look at the journal, whose `looked_position` is given for
    each partition.
    """
    since = F.col("ended_position") >= F.col("looked_position")
    looked = fates.join(F.broadcast(looks), ["queue", "partition"])
    return looked.groupBy(F.col("queue").alias("name")).agg(
        F.count("*").alias("accepted"),
        F.count_if(F.col("deliveries") > 0).alias("delivered"),
        F.sum("deliveries").alias("deliveries"),
        *(F.count_if(F.col("fate") == fate).alias(fate) for fate in (*ENDS, THERE)),
        F.count_if(since).alias("ended_meanwhile"),
    )


class Counting(NamedTuple):
    """A node's count of a queue, and changes while it was asked for."""

    counted: int
    arrived: int
    """Messages that arrived between the looks at the log before and after the count."""
    ended: int
    """Messages that ended between the two looks at the journal."""


def unaccounted(there: int, counting: Counting) -> int:
    """Messages that the journal leaves but the node lacks; negative if the node has more.

    Exact for an idle queue; else only the difference that changes meanwhile cannot explain.
    """
    least, most = there - counting.arrived, there + counting.ended
    if counting.counted < least:
        return least - counting.counted
    return min(0, most - counting.counted)
