"""The demo's own node, started as `duolog serve`."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from duolog_pipelines.errors import PipelineError

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 15.0
_POLL_SECONDS = 0.05
_DOORS = ("kafka", "sqs", "admin")


class Addresses(NamedTuple):
    kafka: str
    sqs: str
    admin: str


@contextmanager
def running_node(data: Path) -> Iterator[Addresses]:
    """Start a node on free ports, with its log beside its data; stop it at the end."""
    data.mkdir(parents=True, exist_ok=True)
    ready, log = data / "demo-node.ready", data / "demo-node.log"
    ready.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "duolog", "serve", "--data", str(data)]
    for door in _DOORS:
        argv += [f"--{door}", "127.0.0.1:0"]
    argv += ["--ready-file", str(ready), "--set", "usage.interval.seconds=1"]
    with log.open("ab") as output:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield _until_ready(process, ready, log)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until_ready(process: "subprocess.Popen[bytes]", ready: Path, log: Path) -> Addresses:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        if ready.exists():
            told = json.loads(ready.read_text())
            return Addresses(*(told[door] for door in _DOORS))
        time.sleep(_POLL_SECONDS)
    lines = log.read_text(errors="replace").splitlines()
    raise PipelineError(f"The demo's node does not start: {lines[-1] if lines else f'see {log}.'}")
