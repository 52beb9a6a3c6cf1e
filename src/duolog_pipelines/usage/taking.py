"""Takes micro-batches of `__usage` into the table of lines, each sheet once.

A batch is parsed, staged as Parquet, checked for repeated sheets, and committed with its number.
Journals are written after that: after a crash in between the batch is repeated, is not committed
again, and taking the same sheets again changes nothing.
"""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from duolog_pipelines.delta import Once, SparkTable, parquet_files
from duolog_pipelines.pipeline import Progress
from duolog_pipelines.state import replace_file
from duolog_pipelines.usage.journals import JournalName, Journals
from duolog_pipelines.usage.lines import lines_of, parsed, rejected_of, sheets_in, without_records
from duolog_pipelines.usage.tables import UsageTables

_PLACES = "partition INT, offset LONG"


class Taking:
    """Callback for each micro-batch; Spark runs one at a time."""

    def __init__(
        self,
        tables: UsageTables,
        checkpoint: Path,
        journals_file: Path,
        progress: Progress,
        now_ms: int,
    ) -> None:
        self._tables = tables
        self._checkpoint = checkpoint
        self._journals_file = journals_file
        self._progress = progress
        self._now_ms = now_ms
        self.lines = 0
        """Lines taken so far."""
        self.repeated = 0
        """Lines found that were taken before."""
        self.rejected = 0
        """Records that are no sheets."""

    def __call__(self, batch: DataFrame, number: int) -> None:
        once = Once(_query_id(self._checkpoint), number)
        told = Observation()
        sheets = parsed(batch)
        observed = sheets.observe(told, F.count_if(~F.col("is_sheet")).alias("rejected"))
        folder = self._tables.lines.stage(lines_of(observed))
        rejected = told.get["rejected"]
        if rejected:
            self._keep_rejected(sheets, once)
        found = _rows(folder)
        spark = batch.sparkSession
        journals = journals_of(spark, self._tables.lines, self._journals_file)
        lines = self._tables.lines.read(spark, parquet_files(folder))
        repeated = take(lines, journals)
        if repeated:
            places = spark.createDataFrame(repeated, _PLACES)
            whole, folder = folder, self._tables.lines.stage(without_records(lines, places))
            shutil.rmtree(whole)
        taken = _rows(folder)
        if self._tables.lines.commit([folder], self._now_ms, once=once):
            self.lines += taken
            self.repeated += found - taken
            self.rejected += rejected
        replace_file(self._journals_file, journals.to_json())
        self._progress.add_rows(taken)

    def _keep_rejected(self, sheets: DataFrame, once: Once) -> None:
        table = self._tables.rejected
        table.commit([table.stage(rejected_of(sheets))], self._now_ms, once=once)


def journals_of(spark: SparkSession, lines: SparkTable, file: Path) -> Journals:
    """Journals from their file, or rebuilt from the table of lines."""
    if file.exists():
        return Journals.from_json(file.read_bytes())
    journals = Journals()
    if lines.statistics():
        take(lines.frame(spark), journals)
    return journals


def take(lines: DataFrame, journals: Journals) -> list[tuple[int, int]]:
    """Take the sheets of some lines; returns the places of those taken before.

    Of several sheets with one name the first in the log is taken, so that the choice is always the
    same.
    """
    in_order = sheets_in(lines).orderBy("partition", "offset")
    return [
        (partition, offset)
        for node, journal, sequence, part, parts, partition, offset in in_order.toLocalIterator()
        if not journals[JournalName(node, journal)].take(sequence, part, parts)
    ]


def _rows(folder: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in parquet_files(folder))


def _query_id(checkpoint: Path) -> str:
    """Spark's id of the query, which changes only with the checkpoint."""
    kept: str = json.loads((checkpoint / "metadata").read_text())["id"]
    return kept
