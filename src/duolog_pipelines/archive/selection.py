"""Selection of archived records to replay, and their target partitions. Pure: frames to frames."""

from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from duolog.cli.positions import Position, Range


def chosen(archive: DataFrame, wanted: Range, topic_id: str | None) -> DataFrame:
    """Rows of one topic's files within the range, whose end is excluded."""
    rows = archive
    if (first := _bound(wanted.first)) is not None:
        column, value = first
        rows = rows.where(F.col(column) >= value)
    if wanted.end is not None and (end := _bound(wanted.end)) is not None:
        column, value = end
        rows = rows.where(F.col(column) < value)
    return rows if topic_id is None else rows.where(F.col("topic_id") == topic_id)


def _bound(position: Position) -> tuple[str, Column] | None:
    match position.kind:
        case "offset":
            return "offset", F.lit(position.value)
        case "time":
            return "timestamp", F.lit(datetime.fromtimestamp(position.value / 1000, UTC))
        case _:
            return None


def incarnations(rows: DataFrame) -> list[str]:
    """Ids of all topics that have had the name: offsets of one mean nothing in another."""
    return sorted(row.topic_id for row in rows.select("topic_id").distinct().collect())


def placed(rows: DataFrame, partition_count: int, *, keep_timestamps: bool) -> DataFrame:
    """Rows as the sink takes them; records of one partition stay in one partition, in order."""
    timestamp = F.col("timestamp") if keep_timestamps else F.lit(None).cast("timestamp")
    ordered = (
        rows.withColumn("source", F.col("partition"))
        .repartition("source")
        .sortWithinPartitions("source", "offset")
    )
    return ordered.select(
        "key",
        "value",
        "headers",
        timestamp.alias("timestamp"),
        (F.col("partition") % partition_count).cast("int").alias("partition"),
    )
