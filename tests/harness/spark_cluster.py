"""A Spark master and two workers on this machine, as the pip package has them."""

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import pyspark
from tests.harness.ports import free_port

WORKERS = 2
READY_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 10.0
POLL_SECONDS = 0.1
SPARK_HOME = Path(pyspark.__file__).parent
SMALL = {
    "SPARK_HOME": str(SPARK_HOME),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "128m",
    "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


class SparkCluster:
    """A context manager. Each worker has one core, and room for one small executor."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port, self._page_port = free_port(), free_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def executors(self) -> list[int]:
        """How many each of the workers has started so far."""
        return [len(list(self._work(number).glob("app-*/*"))) for number in range(WORKERS)]

    def __enter__(self) -> "SparkCluster":
        self._directory.mkdir(parents=True)
        self._start("master.Master", "--port", self._port, "--webui-port", self._page_port)
        for number in range(WORKERS):
            limits = ["--cores", 1, "--memory", "1g", "--work-dir", self._work(number)]
            self._start("worker.Worker", *limits, "--webui-port", 0, self.master)
        try:
            self._until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stop()

    def _start(self, role: str, *words: object) -> None:
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}"]
        command += ["--host", "127.0.0.1", *map(str, words)]
        with (self._directory / f"{role}.{len(self._processes)}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(command, env={**os.environ, **SMALL}, stdout=log, stderr=log)
            )

    def _until_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while self._workers_alive() < WORKERS:
            assert time.monotonic() < deadline, f"see the logs in {self._directory}"
            time.sleep(POLL_SECONDS)

    def _workers_alive(self) -> int:
        try:
            page = f"http://127.0.0.1:{self._page_port}/json/"
            with urllib.request.urlopen(page, timeout=5) as answer:
                alive: int = json.load(answer)["aliveworkers"]
                return alive
        except OSError:
            return 0

    def _stop(self) -> None:
        # Workers first: they end their executors.
        for process in reversed(self._processes):
            process.terminate()
            _wait_or_kill(process)

    def _work(self, number: int) -> Path:
        return self._directory / f"worker-{number}"


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
