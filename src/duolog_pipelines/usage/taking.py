"""Takes micro-batches of `__usage` into the table of lines, each line once.

A batch is parsed and staged as Parquet, looked at, and committed with its number. Journals are
updated after that: whatever dies in between, the batch is tried again, is not committed again,
and adds to the journals what they may have already.
"""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F

from duolog_pipelines.delta import Once, SparkTable, parquet_files
from duolog_pipelines.pipeline import Progress
from duolog_pipelines.state import replace_file
from duolog_pipelines.usage.journals import JournalName, Journals, Run
from duolog_pipelines.usage.lines import (
    first_of_each,
    lines_of,
    parsed,
    rejected_of,
    without_lines,
    without_runs,
)
from duolog_pipelines.usage.sequences import lines_of_others, sequences_in, whole_runs
from duolog_pipelines.usage.tables import UsageTables

_RUNS = "node INT, journal STRING, first LONG, last LONG"
_NAMES = "node INT, journal STRING, sequence LONG, line INT"


class Seen:
    """The sequences that some lines are of."""

    def __init__(self, lines: DataFrame) -> None:
        found = sequences_in(lines).cache()
        try:
            self.runs = [
                (JournalName(node, journal), Run(first, last))
                for node, journal, first, last in whole_runs(found).collect()
            ]
            self.others = [
                (
                    JournalName(row["node"], row["journal"]),
                    row["sequence"],
                    row["lines"],
                    row["there"],
                )
                for row in _others(lines, found)
            ]
        finally:
            found.unpersist()

    def added_to(self, journals: Journals) -> None:
        for name, run in self.runs:
            journals[name].add_run(run)
        for name, sequence, lines, there in self.others:
            journals[name].add_part(sequence, lines, there)


def _others(lines: DataFrame, found: DataFrame) -> list[Row]:
    if found.where("NOT is_whole").isEmpty():
        return []
    return lines_of_others(lines, found).collect()


class Taking:
    """What Spark calls for each micro-batch. One at a time."""

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
        """Taken so far."""
        self.repeated = 0
        """Found, but taken before."""
        self.rejected = 0
        """Records that are no lines."""

    def __call__(self, batch: DataFrame, number: int) -> None:
        once = Once(_query_id(self._checkpoint), number)
        told = Observation()
        records = parsed(batch)
        observed = records.observe(told, F.count_if(~F.col("is_line")).alias("rejected"))
        folder = self._tables.lines.stage(lines_of(observed))
        rejected = told.get["rejected"]
        if rejected:
            self._keep_rejected(records, once)
        spark = batch.sparkSession
        found = _rows(folder)
        lines = self._tables.lines.read(spark, parquet_files(folder))
        journals = journals_of(spark, self._tables.lines, self._journals_file)
        seen = Seen(lines)
        fresh = _fresh(spark, lines, seen, journals)
        if fresh is not None:
            repeated_folder, folder = folder, self._tables.lines.stage(fresh)
            shutil.rmtree(repeated_folder)
        taken = _rows(folder)
        if self._tables.lines.commit([folder], self._now_ms, once=once):
            self.lines += taken
            self.repeated += found - taken
            self.rejected += rejected
        seen.added_to(journals)
        replace_file(self._journals_file, journals.to_json())
        self._progress.add_rows(taken)

    def _keep_rejected(self, records: DataFrame, once: Once) -> None:
        table = self._tables.rejected
        table.commit([table.stage(rejected_of(records))], self._now_ms, once=once)


def journals_of(spark: SparkSession, lines: SparkTable, file: Path) -> Journals:
    """As they were kept, or as the lines that were taken have them."""
    if file.exists():
        return Journals.from_json(file.read_bytes())
    journals = Journals()
    if lines.statistics():
        Seen(lines.frame(spark)).added_to(journals)
    return journals


def _fresh(
    spark: SparkSession, lines: DataFrame, seen: Seen, journals: Journals
) -> DataFrame | None:
    """The lines that were not taken before, each once; None if that is all of them."""
    spans = [*seen.runs, *((name, Run(each, each)) for name, each, _, _ in seen.others)]
    taken_runs, taken_lines = [], []
    for name, span in spans:
        for run in journals[name].taken_of(span):
            part = journals[name].parts.get(run.first)
            if part is None:
                taken_runs.append((*name, *run))
            else:
                taken_lines += [(*name, run.first, line) for line in sorted(part.there)]
    if not (taken_runs or taken_lines or seen.others):
        return None
    fresh = first_of_each(lines)
    if taken_runs:
        fresh = without_runs(fresh, spark.createDataFrame(taken_runs, _RUNS))
    if taken_lines:
        fresh = without_lines(fresh, spark.createDataFrame(taken_lines, _NAMES))
    return fresh


def _rows(folder: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in parquet_files(folder))


def _query_id(checkpoint: Path) -> str:
    """Spark's own name of the query, which is a new one if the checkpoint is."""
    kept: str = json.loads((checkpoint / "metadata").read_text())["id"]
    return kept
