"""The archive's table: every record once, as it was in the log. Pure: frames to frames."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from duolog_pipelines.delta import SparkTable
from pyspark_duolog.columns import COLUMNS

ARCHIVE = "archive"
SCHEMA = StructType(
    [
        StructField("topic", StringType()),
        StructField("topic_id", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestamp_type", IntegerType()),
        StructField("key", COLUMNS["key"]),
        StructField("value", COLUMNS["value"]),
        StructField("headers", COLUMNS["headers"]),
        StructField("date", DateType()),
    ]
)
PARTITIONED_BY = ("topic", "date")
FIRST_DATE = date(1970, 1, 1)
LAST_DATE = date(9999, 12, 31)


def archive_table(path: Path) -> SparkTable:
    return SparkTable(path, SCHEMA, PARTITIONED_BY, ranged=("offset",))


def archived(records: DataFrame, topic_ids: Mapping[str, str]) -> DataFrame:
    """Turn records as the connector reads them, with headers, into rows of the archive."""
    return records.select(
        "topic",
        _looked_up("topic", topic_ids).alias("topic_id"),
        "partition",
        "offset",
        "timestamp",
        F.col("timestampType").alias("timestamp_type"),
        "key",
        "value",
        "headers",
        _date().alias("date"),
    )


def _date() -> Column:
    """Day of the timestamp, clamped to a range that all readers support: producers may claim any
    time."""
    day = F.greatest(F.to_date("timestamp"), F.lit(FIRST_DATE))
    return F.coalesce(F.least(day, F.lit(LAST_DATE)), F.lit(FIRST_DATE))


def _looked_up(column: str, known: Mapping[str, str]) -> Column:
    pairs = [F.lit(text) for pair in known.items() for text in pair]
    return F.element_at(F.create_map(*pairs), F.col(column)) if pairs else F.lit(None)
