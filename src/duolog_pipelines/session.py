"""The Spark session that pipelines run in: embedded by default, or on a cluster."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from duolog_pipelines.errors import PipelineError
from duolog_pipelines.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER = "local[*]"
DRIVER_MEMORY = "1500m"
_LOCAL_SHUFFLE_PARTITIONS = 2
_JAVA = "Java 17 or newer, such as Debian's package openjdk-17-jre-headless"
# Parallel garbage collection would only compete with the tasks. The second compiler stays on,
# though it slows the start: without it JSON is parsed at a third of the speed.
_JAVA_OPTIONS = "-XX:+UseSerialGC"


@contextmanager
def spark_session(
    name: str, master: str, lake: Lake, driver_memory: str = DRIVER_MEMORY
) -> "Iterator[SparkSession]":
    """A Spark session. PipelineError, with what to install, if a part is missing."""
    check_installed()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    lake.spark.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(master).appName(f"duolog-{name}")
    for key, value in _settings(master, lake.spark, driver_memory).items():
        builder = builder.config(key, value)
    log = lake.spark / "log"
    try:
        with _output_to(log):
            session = builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise PipelineError(
            f"Spark could not be started: {_first_line(str(error))} It needs {_JAVA}; {log} says"
            " more."
        ) from None
    session.sparkContext.setLogLevel("WARN")
    try:
        yield session
    finally:
        session.stop()


def _settings(master: str, directory: Path, driver_memory: str) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
        "spark.python.daemon.module": "pyspark_duolog.daemon",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    if master.startswith("local"):
        settings |= {
            "spark.local.dir": str(directory / "scratch"),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(_LOCAL_SHUFFLE_PARTITIONS),
        }
    return settings


def check_installed() -> None:
    """PipelineError for the first thing that is missing and what to do about it."""
    try:
        import deltalake
        import pyspark

        assert deltalake, pyspark
    except ImportError as error:
        raise missing_package(error) from None
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java") and not (home and shutil.which("java", path=f"{home}/bin")):
        raise PipelineError(f"Spark needs Java, and there is none. Install {_JAVA}.")


def missing_package(error: ImportError) -> PipelineError:
    return PipelineError(
        f"Pipelines need the package {error.name}, which comes with the extra `spark`."
        " In your clone of Duolog, run `.venv/bin/pip install -e '.[spark]' -c constraints.txt`."
    )


@contextmanager
def _output_to(file: Path) -> Iterator[None]:
    """Redirect the output of processes started meanwhile, for their whole lives, to the file.

    The JVM prints warnings that mean nothing to a user of this command.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(os.dup(number), number) for number in (1, 2)]
    target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        for _, number in kept:
            os.dup2(target, number)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for copy, number in kept:
            os.dup2(copy, number)
            os.close(copy)
        os.close(target)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
