"""One node as its users have it: a process, a data directory, three addresses and a log."""

import atexit
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.harness.machine import THIS_MACHINE, Machine
from tests.harness.ports import free_port
from tests.harness.turns import longest_turn, run_delay_share, slowness

READY_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 30.0
ASK_SECONDS_MAX = 15.0
POLL_SECONDS = 0.005
LOG_CHARS_SHOWN = 4_000
TURN_MS_MAX = 100
"""CPU time of a callback of a node's event loop that fails a test, unless the host was busy."""
STARVED_SHARE = 0.1

NO_SETTINGS: Mapping[str, object] = {}
RESERVE_BYTES = 1 << 20
"""Small, because many test nodes share one disk."""


class NodeFailed(AssertionError):
    """The node did not do what was asked; the end of its log is in the text."""


class Node:
    """A node in a directory of its own. Started again, it has the same data and address."""

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, object] = NO_SETTINGS,
        *,
        data: Path | None = None,
        wrapper: Sequence[str] = (),
        machine: Machine = THIS_MACHINE,
    ) -> None:
        self.directory = directory
        self.data = data or directory / "data"
        self.machine = machine
        self.kafka = f"{machine.host}:{free_port()}"
        self.sqs = f"{machine.host}:{free_port()}"
        # Only programs on its machine are told everything there.
        self.admin = f"127.0.0.1:{free_port()}"
        self.peer: str | None = None
        """Where other nodes connect; None for a node alone."""
        self.settings = {"log.reserve.bytes": RESERVE_BYTES, **settings}
        self.wrapper = list(wrapper)
        """A command that runs the node, such as strace with its options."""
        self.turn_ms_max = TURN_MS_MAX
        self.options: list[str] = []
        """More of its command line."""
        self.starts = 0
        self._ready_file = directory / "ready.json"
        self._process: subprocess.Popen[bytes] | None = None
        self._was_starved = True
        """Whether the host was too busy for turns to be judged; also while that is not known."""
        # A test that fails may not get to stop its node.
        atexit.register(self.kill)

    @property
    def log_file(self) -> Path:
        """What the current, or last, process wrote to stderr."""
        return self.directory / f"stderr.{self.starts}"

    @property
    def log_text(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    @property
    def pid(self) -> int:
        """Of the node itself, not of what it is wrapped in."""
        return int((self.data / "lock").read_text())

    @property
    def credentials(self) -> str | None:
        """What SQS clients sign with, as KEY:SECRET; None where they need not."""
        given = self.settings.get("sqs.credentials")
        return None if given is None else str(given)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def spawn(self) -> "Node":
        """Start the process without waiting for it to be ready."""
        assert not self.running, "the node runs already"
        self.directory.mkdir(parents=True, exist_ok=True)
        self._ready_file.unlink(missing_ok=True)
        self.starts += 1
        self._was_starved = True
        command = [*self.wrapper, sys.executable, "-m", "duolog", "serve"]
        command += ["--data", str(self.data), "--kafka", self.kafka, "--sqs", self.sqs]
        command += ["--admin", self.admin]
        if self.peer is not None:
            command += ["--peer", self.peer]
        command += ["--ready-file", str(self._ready_file)]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        command += self.options
        # The variables that steer these tests are no settings of a node, which refuses them.
        environ = {key: value for key, value in os.environ.items() if "DUOLOG_" not in key}
        with self.open_log() as log, self.machine.entered():
            self._process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=log, env=environ
            )
        return self

    def open_log(self) -> IO[bytes]:
        """Where the process writes its log; a test may give it another place."""
        return self.log_file.open("wb")

    def start(self) -> "Node":
        return self.spawn().until_ready()

    @property
    def is_ready(self) -> bool:
        return self._ready_file.exists()

    def until_ready(self) -> "Node":
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not self.is_ready:
            if not self.running:
                raise self._failure(f"the node ended with code {self.wait()} instead of starting")
            if time.monotonic() > deadline:
                self.kill()
                raise self._failure(f"the node was not ready after {READY_SECONDS_MAX:.0f} s")
            time.sleep(POLL_SECONDS)
        addresses = json.loads(self._ready_file.read_text())
        self.kafka, self.sqs = addresses["kafka"], addresses.get("sqs", "")
        self.admin, self.peer = addresses["admin"], addresses.get("peer")
        return self

    def wait(self, seconds_max: float = STOP_SECONDS_MAX) -> int:
        """The exit code of a node that ends by itself."""
        assert self._process is not None
        try:
            return self._process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failure(f"the node still ran after {seconds_max:.0f} s") from None

    def stop(self) -> None:
        """SIGTERM: it must end by itself, without an error, and without complaints."""
        if not self.running:
            raise self._failure(f"the node had already ended with code {self.wait()}")
        self._was_starved = run_delay_share(self.pid) > STARVED_SHARE
        os.kill(self.pid, signal.SIGTERM)
        code = self.wait()
        if code != 0:
            raise self._failure(f"the node ended with code {code}")
        self.check_log()

    def terminate(self) -> None:
        """SIGTERM to a node that may have no lock file with its id yet."""
        assert self._process is not None
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nothing is said."""
        if self.running:
            assert self._process is not None
            self._was_starved = run_delay_share(self._process.pid) > STARVED_SHARE
            if self.wrapper and (self.data / "lock").exists():
                os.kill(self.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        """SIGSTOP: it does nothing from now on; a kill still works."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> "Node":
        """Start again, after a stop or a kill, where it was."""
        if self.running:
            self.stop()
        return self.start()

    def check_log(self) -> None:
        if "Traceback" in self.log_text:
            raise self._failure("the node logged a traceback")
        longest = None if self._was_starved else longest_turn(self.log_text)
        if longest is not None and longest.callback_ms > self.turn_ms_max * slowness():
            stack = "\n".join(longest.stack)
            raise self._failure(
                f"a turn of the event loop took {longest.callback_ms} ms:\n{stack}\n"
            )

    def metric(self, name: str) -> float:
        """One unlabelled number of /metrics."""
        for line in self.asked("/metrics").decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[-1])
        raise AssertionError(f"/metrics has no {name}")

    def asked(self, path: str, body: bytes | None = None) -> bytes:
        """What the admin API answers; a body is posted."""
        url = f"http://{self.admin}{path}"
        with (
            self.machine.entered(),
            urllib.request.urlopen(url, body, timeout=ASK_SECONDS_MAX) as answer,
        ):
            body: bytes = answer.read()
            return body

    def partition_directory(self, topic: str, partition: int = 0) -> Path:
        return self.data / f"{topic}-{partition}"

    def segments(self, topic: str, partition: int = 0) -> list[Path]:
        """The partition's segment files; the last one is the active one."""
        return sorted(self.partition_directory(topic, partition).glob("*.log"))

    def _failure(self, reason: str) -> NodeFailed:
        text = self.log_text[-LOG_CHARS_SHOWN:]
        return NodeFailed(f"{reason}\n--- {self.log_file} ---\n{text}")

    def __enter__(self) -> "Node":
        return self.start()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Stop a node that still runs; after a failure, show what it had to say instead."""
        if error is not None:
            self.kill()
            print(self._failure("the node's log"))
        elif self.running:
            self.stop()
        else:
            self.check_log()
