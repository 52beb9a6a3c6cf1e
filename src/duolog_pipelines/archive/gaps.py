"""The table of records that were removed before they could be archived."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from duolog_pipelines.archive.pipeline import GAPS
from duolog_pipelines.delta import SparkTable
from duolog_pipelines.lake import Lake

SCHEMA = StructType(
    [
        StructField("topic", StringType()),
        StructField("topic_id", StringType()),
        StructField("partition", IntegerType()),
        StructField("first_offset", LongType()),
        StructField("next_offset", LongType()),
        StructField("found_ms", LongType()),
    ]
)


def gaps_table(lake: Lake) -> SparkTable:
    return SparkTable(lake.table(GAPS), SCHEMA)
