"""A Spark application that runs one job after another, as it is told over a socket.

Python and the JVM are warm from the second job on, and everything that they use is accounted to
one session of processes: the driver, the JVM and the Python workers.

A job is a line of JSON, and so is its result.
"""

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.samples import BYTES_PER_MB
from bench.spark.per_record import PerRecordSource
from bench.spark.repeated import RepeatedSource

Job = dict[str, Any]
MILLISECONDS_PER_SECOND = 1_000
JOURNAL = "0123456789abcdef" * 2
USAGE_FROM_MS = 1_789_999_200_000
_USAGE_COLUMNS = {
    "tenant": "CONCAT('tenant-', line % 50)",
    "kind": "'queue'",
    "resource": "CONCAT('orders-', line DIV 4)",
    "operation": "ELT(line % 4 + 1, 'send', 'receive', 'delete', 'other')",
    "requests": "10L",
    "messages": "100L",
    "bytes": "102400L",
    "byte_seconds": "0L",
    "errors": "0L",
}
"""Of a sheet, by the number of the line."""


class Application:
    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory

    def read(
        self, *, format: str, options: Mapping[str, str], collect_seconds: int | None = None
    ) -> Job:
        """A stream of all there is into a sink that does nothing.

        With `collect_seconds` the JVM collects garbage that often meanwhile, and what is free of
        its heap then, at least, is told.
        """
        rows = self._spark.readStream.format(format).options(**options).load()
        with tempfile.TemporaryDirectory(dir=self._directory) as checkpoint:
            query = (
                rows.writeStream.format("noop")
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            free_mb = []
            while not query.awaitTermination(collect_seconds) and query.isActive:
                free_mb.append(self._free_heap_mb())
        free = {"free_heap_mb": min(free_mb)} if free_mb else {}
        return {"rows": _rows(query), "seconds": _seconds(query), **free}

    def _free_heap_mb(self) -> float:
        machine: Any = self._spark._jvm
        machine.System.gc()
        free_bytes: int = machine.Runtime.getRuntime().freeMemory()
        return free_bytes / BYTES_PER_MB

    def write(self, *, rows: int, value_bytes: int, options: Mapping[str, str]) -> Job:
        """Rows that the JVM makes, in one batch."""
        frame = self._spark.range(rows).selectExpr(f"repeat('x', {value_bytes}) AS value")
        return self._append(frame, rows, options)

    def write_usage(
        self, *, intervals: int, interval_ms: int, lines_each: int, options: Mapping[str, str]
    ) -> Job:
        """What one node would write in so many intervals, from a full hour on: a sheet each."""
        numbers = f"SEQUENCE(0, {lines_each - 1})"
        sheets = self._spark.range(intervals).selectExpr(
            "1 AS version",
            "1 AS node",
            f"'{JOURNAL}' AS journal",
            "id AS sequence",
            "0 AS part",
            "1 AS parts",
            f"{USAGE_FROM_MS} + id * {interval_ms} AS from_ms",
            f"{USAGE_FROM_MS} + (id + 1) * {interval_ms} AS to_ms",
            *(
                f"TRANSFORM({numbers}, line -> {value}) AS {name}"
                for name, value in _USAGE_COLUMNS.items()
            ),
        )
        return self._append(sheets.selectExpr("to_json(struct(*)) AS value"), intervals, options)

    def _append(self, frame: DataFrame, rows: int, options: Mapping[str, str]) -> Job:
        writer = frame.write.format("duolog").mode("append").options(**options)
        began = time.monotonic()
        writer.option("stagingDirectory", str(self._directory / "staging")).save()
        return {"rows": rows, "seconds": time.monotonic() - began}


def _rows(query: StreamingQuery) -> int:
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def _seconds(query: StreamingQuery) -> float:
    """From the planning of each micro-batch to its end; a query's start is not in it."""
    durations = [progress["durationMs"] for progress in query.recentProgress]
    milliseconds: int = sum(each.get("triggerExecution", 0) for each in durations)
    return milliseconds / MILLISECONDS_PER_SECOND


def session(directory: Path, *, cores: int, memory: str, is_touched: bool) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    java_options = ["-XX:+UseSerialGC"]
    if is_touched:
        java_options += [f"-Xms{memory}", "-XX:+AlwaysPreTouch"]
    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("duolog-bench")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", memory)
        .config("spark.driver.extraJavaOptions", " ".join(java_options))
        .config("spark.local.dir", str(directory / "scratch"))
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .config("spark.python.daemon.module", "pyspark_duolog.daemon")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for source in (PerRecordSource, RepeatedSource):
        spark.dataSource.register(source)
    return spark


def serve(listener: socket.socket, application: Application) -> None:
    """One client, until it leaves."""
    jobs: Mapping[str, Callable[..., Job]] = {
        "read": application.read,
        "write": application.write,
        "write_usage": application.write_usage,
    }
    connection, _ = listener.accept()
    with connection, connection.makefile("rw") as stream:
        for line in stream:
            wanted = json.loads(line)
            try:
                result = jobs[wanted.pop("job")](**wanted)
            except Exception as error:  # The one who asked decides what a failed job means.
                result = {"error": str(error)}
            print(json.dumps(result), file=stream, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.spark.application", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--ready-file", type=Path, required=True)
    parser.add_argument("--cores", type=int, required=True)
    parser.add_argument("--memory", required=True)
    parser.add_argument("--touched", action="store_true")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    spark = session(
        arguments.directory,
        cores=arguments.cores,
        memory=arguments.memory,
        is_touched=arguments.touched,
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        arguments.ready_file.write_text(json.dumps({"jobs": f"{host}:{port}"}))
        serve(listener, Application(spark, arguments.directory))
    spark.stop()


if __name__ == "__main__":
    main()
