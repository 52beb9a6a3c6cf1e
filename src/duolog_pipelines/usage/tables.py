"""The tables that the pipeline keeps."""

from duolog_pipelines.delta import SparkTable
from duolog_pipelines.lake import Lake
from duolog_pipelines.usage.lines import LINES, REJECTED
from duolog_pipelines.usage.totals import DAILY, HOURLY

LINES_TABLE = "usage_lines"
REJECTED_TABLE = "usage_rejected"
HOURLY_TABLE = "usage_hourly"
DAILY_TABLE = "usage_daily"

SCHEMAS = {
    LINES_TABLE: LINES,
    REJECTED_TABLE: REJECTED,
    HOURLY_TABLE: HOURLY,
    DAILY_TABLE: DAILY,
}


class UsageTables:
    def __init__(self, lake: Lake) -> None:
        self.lines = SparkTable(
            lake.table(LINES_TABLE), LINES, ["date"], ["from_ms", "partition", "offset"]
        )
        self.rejected = SparkTable(lake.table(REJECTED_TABLE), REJECTED)
        self.hourly = SparkTable(lake.table(HOURLY_TABLE), HOURLY, ["date"])
        self.daily = SparkTable(lake.table(DAILY_TABLE), DAILY, ["date"])
