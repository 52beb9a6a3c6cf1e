"""Which sequences of which journals some lines make up. Pure: frames to frames.

All lines of a sequence are written in one record batch, so that they lie one behind the other
in the log. Where they do, none is missing and none is there twice, which is known without
comparing lines with each other.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

_SEQUENCE = ("node", "journal", "sequence")


def sequences_in(lines: DataFrame) -> DataFrame:
    """One row each; `is_whole` where all its lines are there, in order and once."""
    # Offsets differ, so lines differ if each is as far from its offset as all the others.
    distance = F.col("offset") - F.col("line")
    return lines.groupBy(*_SEQUENCE).agg(
        (
            (F.min("lines") == F.count("*"))
            & (F.max("lines") == F.count("*"))
            & (F.min("line") == 0)
            & (F.max("line") == F.count("*") - 1)
            & (F.min(distance) == F.max(distance))
            & (F.min("partition") == F.max("partition"))
        ).alias("is_whole"),
    )


def whole_runs(sequences: DataFrame) -> DataFrame:
    """Stretches of whole sequences: node, journal, first, last."""
    in_order = Window.partitionBy("node", "journal").orderBy("sequence")
    return (
        sequences.where("is_whole")
        .withColumn("stretch", F.col("sequence") - F.row_number().over(in_order))
        .groupBy("node", "journal", "stretch")
        .agg(F.min("sequence").alias("first"), F.max("sequence").alias("last"))
        .select("node", "journal", "first", "last")
    )


def lines_of_others(lines: DataFrame, sequences: DataFrame) -> DataFrame:
    """Of sequences that are not whole: node, journal, sequence, lines, and which are there."""
    others = F.broadcast(sequences.where("NOT is_whole").select(*_SEQUENCE))
    return (
        lines.join(others, list(_SEQUENCE))
        .groupBy(*_SEQUENCE)
        .agg(F.max("lines").alias("lines"), F.sort_array(F.collect_set("line")).alias("there"))
    )
