"""The streaming query of the archive."""

from typing import NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from duolog_pipelines.archive.checkpoint import Checkpoint, Gap, gaps
from duolog_pipelines.archive.gaps import gaps_table
from duolog_pipelines.archive.table import ARCHIVE, archived
from duolog_pipelines.delta import Once, SparkTable, parquet_files
from duolog_pipelines.errors import NotAllowed
from duolog_pipelines.pipeline import Offsets, Stage
from pyspark_duolog.source.offsets import Offsets as Reached

FETCH_BYTES = 8 << 20


class Copied(NamedTuple):
    rows: int
    gaps: int
    offsets: Offsets


def copy_new(stage: Stage, table: SparkTable) -> Copied:
    """Archive every record that is in the topics now and was not archived before."""
    path = stage.lake.checkpoint(ARCHIVE)
    checkpoint = Checkpoint(path)
    if not checkpoint.exists and table.exists and table.statistics():
        raise NotAllowed(
            f"The archive in {table.path} has records, but {path}, which says which, is gone."
            " Restore it, or move the archive elsewhere to begin a new one."
        )
    copying = _Copying(stage, table, checkpoint)
    query = (
        _records(stage)
        .writeStream.foreachBatch(copying.take)
        .option("checkpointLocation", str(path))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    reached = {name: dict(topic.next) for name, topic in checkpoint.last_offsets().items()}
    return Copied(copying.rows, copying.gaps, reached)


def _records(stage: Stage) -> DataFrame:
    reader = (
        stage.spark.readStream.format("duolog")
        .option("kafka.bootstrap.servers", stage.bootstrap_servers)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("maxOffsetsPerTrigger", stage.options["batch_offsets"])
        .option("failOnDataLoss", str(not stage.options["allow_gaps"]).lower())
        .option("fetchBytesMax", FETCH_BYTES)
    )
    if stage.options["topics"]:
        return reader.option("subscribe", stage.options["topics"]).load()
    return reader.option("subscribePattern", stage.options["pattern"]).load()


class _Copying:
    def __init__(self, stage: Stage, table: SparkTable, checkpoint: Checkpoint) -> None:
        self._stage = stage
        self._table = table
        self._checkpoint = checkpoint
        self.rows = 0
        self.gaps = 0

    def take(self, records: DataFrame, batch: int) -> None:
        """Archive one micro-batch: stage it, then commit it exactly once."""
        stage, table = self._stage, self._table
        once = Once(self._checkpoint.query_id, batch)
        stage.progress.step(f"batch {batch}")
        planned = self._checkpoint.offsets(batch)
        self._note(gaps(self._checkpoint.offsets(batch - 1), planned), once)
        if table.done(once.query) >= batch:
            return
        folder = table.stage(archived(records, _ids(planned)))
        rows = sum(pq.read_metadata(each).num_rows for each in parquet_files(folder))
        if table.commit([folder], stage.now_ms, once=once):
            self.rows += rows
            stage.progress.add_rows(rows)

    def _note(self, found: list[Gap], once: Once) -> None:
        if not found:
            return
        self.gaps += len(found)
        table = gaps_table(self._stage.lake)
        rows = [(*each, self._stage.now_ms) for each in found]
        frame = self._stage.spark.createDataFrame(rows, table.schema)
        table.commit([table.stage(frame)], self._stage.now_ms, once=once)


def _ids(planned: Reached) -> dict[str, str]:
    return {name: topic.id for name, topic in planned.items()}
