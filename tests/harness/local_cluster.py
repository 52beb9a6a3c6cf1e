"""A cluster as `duolog cluster up` runs it: a process in the foreground, commands beside it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

READY_SECONDS_MAX = 60.0
COMMAND_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 30.0
NODES = 3


class LocalCluster:
    """The foreground process, and commands given beside it."""

    def __init__(self, directory: Path, data_name: str = "cluster") -> None:
        self.data = directory / data_name
        self.ready_file = directory / "ready.json"
        self.output = directory / "output"
        self.environ = {key: value for key, value in os.environ.items() if "DUOLOG_" not in key}

    def start(self) -> "LocalCluster":
        begun = time.monotonic()
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                self._line(
                    *("cluster", "up", "--nodes", str(NODES), "--free-ports"),
                    *("--data", str(self.data), "--ready-file", str(self.ready_file)),
                ),
                stdout=output,
                stderr=output,
                env=self.environ,
            )
        while not self.ready_file.exists():
            assert self.process.poll() is None, self.output.read_text()
            assert time.monotonic() - begun < READY_SECONDS_MAX, self.output.read_text()
            time.sleep(0.01)
        self.ready_seconds = time.monotonic() - begun
        self.described: dict[str, Any] = json.loads(self.ready_file.read_text())
        return self

    @property
    def bootstrap(self) -> str:
        return ",".join(node["kafka"] for node in self.described["nodes"])

    def __call__(self, *arguments: str, node: int = 1) -> "subprocess.CompletedProcess[str]":
        admin = self.described["nodes"][node - 1]["admin"]
        done = subprocess.run(
            self._line("cluster", *arguments),
            env=self.environ | {"DUOLOG_ADMIN_LISTEN": admin},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def local(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A command that is given to the foreground process."""
        return self(*arguments, "--data", str(self.data))

    def nodes(self, node: int = 1) -> dict[int, dict[str, Any]]:
        """What `status` prints, whether all is well or not."""
        rows = json.loads(self("status", "-o", "json", node=node).stdout)
        return {row["id"]: row for row in rows}

    def until_well(self, node: int = 1) -> None:
        deadline = time.monotonic() + COMMAND_SECONDS_MAX
        while (done := self("status", node=node)).returncode != 0:
            assert time.monotonic() < deadline, done.stderr
            time.sleep(0.1)

    def processes(self) -> list[int]:
        """Everything that runs and was told of the directory."""
        found = []
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.data).encode() in command.read_bytes():
                    found.append(int(command.parent.name))
            except OSError:
                continue
        return found

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS_MAX)

    def _line(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "duolog", *arguments]

    def __enter__(self) -> "LocalCluster":
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.process.kill()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
