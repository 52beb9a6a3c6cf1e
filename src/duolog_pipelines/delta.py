"""Delta tables of files that Spark has written, without a jar.

Executors write Parquet below the table's directory, where no reader sees it; the driver then names
the files in one commit. A commit that carries a query's id and a batch number is made once, however
often the batch is repeated.
"""

import json
import re
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_PARTITION_FOLDER = re.compile(r"([^/=]+)=([^/]*)")


class Once(NamedTuple):
    """Identity of a commit, by which it is made only once."""

    query: str
    batch: int
    """Batch number, which only grows within a query."""


class Statistics(NamedTuple):
    """Facts about a file's rows, known without reading them."""

    path: str
    """Path within the table."""
    rows: int
    partition: Mapping[str, str | None]
    """Value of each column that the table is partitioned by."""
    lowest: Mapping[str, Any]
    highest: Mapping[str, Any]


class SparkTable:
    """A Delta table whose files Spark writes and reads.

    The driver and all executors must see its directory under the same path.
    """

    def __init__(
        self,
        path: Path,
        schema: StructType,
        partition_by: Sequence[str] = (),
        ranged: Sequence[str] = (),
    ) -> None:
        """`ranged`: integer columns whose minimum and maximum are kept for each file."""
        self.path = path
        self.schema = schema
        self._partition_by = tuple(partition_by)
        self._ranged = tuple(ranged)

    @property
    def exists(self) -> bool:
        return DeltaTable.is_deltatable(str(self.path))

    def opened(self, version: int | None = None) -> DeltaTable:
        """Open the table; created empty if it does not exist."""
        if not self.exists:
            self.path.mkdir(parents=True, exist_ok=True)
            DeltaTable.create(
                self.path,
                to_arrow_schema(self.schema, timezone="UTC"),
                mode="ignore",
                partition_by=list(self._partition_by) or None,
            )
        return DeltaTable(self.path, version=version)

    def done(self, query: str) -> int:
        """Number of the query's last committed batch; -1 before the first."""
        version = self.opened().transaction_version(query)
        return -1 if version is None else version

    def stage(self, frame: DataFrame) -> Path:
        """Write rows below the table for a later commit; returns their folder."""
        folder = self.path / f"files-{uuid.uuid4().hex}"
        conf = frame.sparkSession.conf
        # Delta supports only timestamps in microseconds.
        conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        writer = frame.select(*self.schema.names).write.option(
            "mapreduce.fileoutputcommitter.marksuccessfuljobs", "false"
        )
        if self._partition_by:
            writer = writer.partitionBy(*self._partition_by)
        writer.parquet(str(folder))
        # Hadoop's checksum files, which no reader of Delta tables uses.
        for checksum in folder.rglob(".*.crc"):
            checksum.unlink()
        return folder

    def commit(
        self,
        folders: Sequence[Path],
        now_ms: int,
        *,
        once: Once | None = None,
        without: Iterable[str] = (),
    ) -> bool:
        """Add staged files and take out others, atomically. False if the commit was made before.

        Files taken out stay on disk until a vacuum, for readers that still use them.
        """
        table = self.opened()
        if once is not None and self.done(once.query) >= once.batch:
            for folder in folders:
                shutil.rmtree(folder)
            return False
        added = [self._added(file) for folder in folders for file in parquet_files(folder)]
        removed = [RemoveAction(path, True, now_ms) for path in sorted(without)]
        table.create_write_transaction(
            [*added, *removed],
            "append",
            table.schema(),
            list(self._partition_by) or None,
            commit_properties=CommitProperties(
                app_transactions=[Transaction(once.query, once.batch)] if once else None
            ),
        )
        return True

    def frame(self, spark: SparkSession, paths: Iterable[str] | None = None) -> DataFrame:
        """All rows, or those of some files."""
        if paths is None:
            paths = [each.path for each in self.statistics()]
        return self.read(spark, [self.path / path for path in paths])

    def read(self, spark: SparkSession, files: Sequence[Path]) -> DataFrame:
        """Rows of files, committed or not."""
        if not files:
            return spark.createDataFrame([], self.schema)
        stored = StructType(
            [field for field in self.schema.fields if field.name not in self._partition_by]
        )
        frame = spark.read.schema(stored).parquet(*map(str, files))
        for name in self._partition_by:
            # Partition values are in folder names, as Spark and Delta write them.
            text = F.regexp_extract("_metadata.file_path", f"/{name}=([^/]+)/", 1)
            frame = frame.withColumn(name, text.cast(self.schema[name].dataType))
        return frame.select(*self.schema.names)

    def statistics(self, version: int | None = None) -> list[Statistics]:
        """Statistics of each file in the table now, or at an older version."""
        if not self.exists:
            return []
        told = self.opened(version).get_add_actions(flatten=True).to_struct_array().to_pylist()
        paths = [unquote(each["path"]) for each in told]
        return [
            Statistics(
                path,
                each["num_records"],
                _partition_values(path),
                {name: each.get(f"min.{name}") for name in self._ranged},
                {name: each.get(f"max.{name}") for name in self._ranged},
            )
            for path, each in zip(paths, told, strict=True)
        ]

    def _added(self, file: Path) -> AddAction:
        metadata = pq.read_metadata(file)
        status = file.stat()
        path = str(file.relative_to(self.path))
        return AddAction(
            path,
            status.st_size,
            _partition_values(path),
            status.st_mtime_ns // 1_000_000,
            True,
            json.dumps(_statistics(metadata, self._ranged)),
        )


def parquet_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def _partition_values(path: str) -> dict[str, str | None]:
    folders = path.split("/")[:-1]
    pairs = [match.groups() for each in folders if (match := _PARTITION_FOLDER.fullmatch(each))]
    return {name: None if text == _NO_VALUE else unquote(text) for name, text in pairs}


def _statistics(metadata: Any, ranged: Sequence[str]) -> dict[str, Any]:
    lowest: dict[str, int] = {}
    highest: dict[str, int] = {}
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            name, told = column.path_in_schema, column.statistics
            if name in ranged and told is not None and told.has_min_max:
                lowest[name] = min(told.min, lowest.get(name, told.min))
                highest[name] = max(told.max, highest.get(name, told.max))
    return {"numRecords": metadata.num_rows, "minValues": lowest, "maxValues": highest}
