"""The tables of the audit. Each run replaces their rows."""

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from duolog_pipelines.audit import balance, latency, numbering
from duolog_pipelines.audit.names import (
    BALANCE,
    COVERAGE,
    DUPLICATES,
    LATENCY,
    LOSSES,
    PRODUCERS,
)
from duolog_pipelines.delta import SparkTable
from duolog_pipelines.lake import Lake
from duolog_pipelines.upkeep import replace_rows

COVERAGE_SCHEMA = StructType(
    [
        StructField("queue", StringType()),
        StructField("partition", IntegerType()),
        StructField("is_whole", BooleanType()),
        StructField("since_ms", LongType()),
        StructField("opening_messages", LongType()),
        StructField("journal_offset", LongType()),
        StructField("first_stored_offset", LongType()),
        StructField("end_offset", LongType()),
    ]
)
PRODUCERS_SCHEMA = StructType(
    [
        StructField("topic", StringType()),
        StructField("producer", StringType()),
        StructField("messages", LongType()),
        StructField("unnumbered", LongType()),
        StructField("first_sequence", LongType()),
        StructField("last_sequence", LongType()),
        StructField("missing", LongType()),
        StructField("duplicates", LongType()),
        StructField("whole_since", TimestampType()),
    ]
)
SCHEMAS = {
    BALANCE: balance.SCHEMA,
    COVERAGE: COVERAGE_SCHEMA,
    PRODUCERS: PRODUCERS_SCHEMA,
    LOSSES: numbering.LOSSES,
    DUPLICATES: numbering.DUPLICATES,
    LATENCY: latency.SCHEMA,
}


def replace(lake: Lake, name: str, frame: DataFrame, now_ms: int) -> None:
    replace_rows(SparkTable(lake.table(name), SCHEMAS[name]), frame, now_ms)
