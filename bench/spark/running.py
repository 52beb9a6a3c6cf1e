"""The application of application.py from outside: started, given jobs, measured and stopped."""

import json
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import processes
from bench.driver import LoadFailed
from bench.meter import Meter
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

SPARK = "Spark"
POLL_SECONDS = 0.2


def missing() -> str:
    """What Spark lacks here to run at all; nothing where it is complete."""
    lacking = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if shutil.which("java") is None:
        lacking.append("Java 17")
    return f"skipped: no {', '.join(lacking)}" if lacking else ""


@dataclass(slots=True)
class Running:
    server: Server
    connection: socket.socket

    def run(
        self, job: str, *, meanwhile: Callable[[], None] = lambda: None, **fields: Any
    ) -> dict[str, Any]:
        """`meanwhile` is called every now and then until the job is done."""
        self.connection.sendall(json.dumps({"job": job, **fields}).encode() + b"\n")
        self.connection.settimeout(POLL_SECONDS)
        answer = b""
        while not answer.endswith(b"\n"):
            try:
                received = self.connection.recv(1 << 16)
            except TimeoutError:
                meanwhile()
                continue
            if not received:
                raise LoadFailed(f"Spark ended: {self.server.log_tail()}")
            answer += received
        result: dict[str, Any] = json.loads(answer)
        if "error" in result:
            raise LoadFailed(f"a job of Spark failed: {result['error'][:2000]}")
        return result

    def measured(self, broker: Server, row_bytes: int, job: str, **fields: Any) -> Sample:
        """The CPU is that of all of Spark: driver, JVM and Python workers."""
        broker_before = broker.cpu_seconds()
        meter = Meter(self.server)
        result = self.run(job, **fields)
        usage = meter.read(load_cpu_seconds=broker.cpu_seconds() - broker_before)
        return Sample(
            seconds=result["seconds"],
            cpu_seconds=usage.cpu_seconds,
            others_cores=usage.others_cores,
            messages=result["rows"],
            bytes=result["rows"] * row_bytes,
        )


@contextmanager
def running(
    stand: Stand, *, cores: int, memory: str, is_touched: bool = False
) -> Iterator[Running]:
    """`is_touched`: all of the JVM's heap is resident from the start."""
    directory = stand.directory / "spark"
    ready, log_path = stand.directory / "spark.ready", stand.directory / "spark.log"
    argv: list[str | Path] = [sys.executable, "-m", "bench.spark.application"]
    argv += ["--directory", directory, "--ready-file", ready]
    argv += ["--cores", str(cores), "--memory", memory]
    argv += ["--touched"] if is_touched else []
    try:
        with (
            processes.start(
                SPARK, argv, ready_file=ready, log_path=log_path, door="jobs"
            ) as server,
            socket.create_connection(server.host_and_port) as connection,
        ):
            yield Running(server, connection)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
