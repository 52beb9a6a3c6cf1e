"""Servers under measurement: started in their own session, accounted for and stopped by it."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

READY_SECONDS_MAX = 120.0
STOP_SECONDS_MAX = 20.0
_POLL_SECONDS = 0.005
_KIB = 1024
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_ENDED_FIELDS = slice(13, 15)
"""Of /proc/<pid>/stat, from the state on: cutime and cstime."""
_STARTED_FIELD = 19
"""In ticks since the machine's start."""
_AGE_SECONDS_MIN = 0.5


class ServerFailed(Exception):
    """A server did not start, or died while it was measured."""


@dataclass(slots=True)
class Server:
    name: str
    process: subprocess.Popen[bytes]
    log_path: Path
    address: str = ""
    ready_seconds: float = 0.0
    """From the start of the process to its ready file."""

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def host_and_port(self) -> tuple[str, int]:
        host, port = self.address.rsplit(":", 1)
        return host, int(port)

    def cpu_seconds(self) -> float:
        """CPU time of all threads so far, of the process and its children, ended ones too.

        Without those, the time of a child that ends meanwhile would count as negative.
        """
        if self.process.poll() is not None:
            raise ServerFailed(f"{self.name} died: {self.log_tail()}")
        return sum(_cpu_seconds(pid) + _ended_seconds(pid) for pid in _session(self.pid))

    def rss_mb(self) -> float:
        return _status_mb(self.pid, "VmRSS")

    def session_rss_mb(self) -> float:
        """Of the process and its children; what they share counts for each."""
        return self._session_mb(lambda pid: _status_mb(pid, "VmRSS"))

    def session_resident_mb(self) -> float:
        """The same, but what they share counts once. To find that out takes tens of milliseconds
        for each gigabyte, which is too much while a clock runs."""
        return self._session_mb(_resident_mb)

    def _session_mb(self, of: Callable[[int], float]) -> float:
        """A child that has just begun is left out: until it has become another program, what it
        has may be all that its parent has."""
        total = 0.0
        for pid in _session(self.pid):
            try:
                if pid == self.pid or _age_seconds(pid) >= _AGE_SECONDS_MIN:
                    total += of(pid)
            except (OSError, ServerFailed):
                # It ended meanwhile.
                continue
        return total

    def peak_rss_mb(self) -> float:
        return _status_mb(self.pid, "VmHWM")

    def kill(self) -> None:
        """As a crash does it: nothing is flushed or closed."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self._signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()

    def log_tail(self) -> str:
        text = self.log_path.read_text(errors="replace") if self.log_path.exists() else ""
        return text[-2000:].strip() or "it said nothing"

    def _signal(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            os.killpg(self.pid, number)

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def spawn(
    name: str,
    argv: Sequence[str | Path],
    *,
    log_path: Path,
    environment: Mapping[str, str] | None = None,
) -> Server:
    """Its own session, so that an interrupt reaches the benchmark first, which then stops it."""
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    return Server(name, process, log_path)


def start(
    name: str,
    argv: Sequence[str | Path],
    *,
    ready_file: Path,
    log_path: Path,
    door: str = "kafka",
) -> Server:
    """Waits for the ready file, a JSON object in which `door` has the address to talk to."""
    server, ready = start_and_wait(name, argv, ready_file=ready_file, log_path=log_path)
    server.address = ready[door]
    return server


def start_and_wait(
    name: str, argv: Sequence[str | Path], *, ready_file: Path, log_path: Path
) -> tuple[Server, dict[str, Any]]:
    """The server, and what its ready file says."""
    ready_file.unlink(missing_ok=True)
    began = time.monotonic()
    server = spawn(name, argv, log_path=log_path)
    try:
        while not (ready := _read_ready(ready_file)):
            if server.process.poll() is not None:
                raise ServerFailed(f"{name} exited at once: {server.log_tail()}")
            if time.monotonic() - began > READY_SECONDS_MAX:
                raise ServerFailed(f"{name} was not ready in time: {server.log_tail()}")
            time.sleep(_POLL_SECONDS)
    except BaseException:
        server.stop()
        raise
    server.ready_seconds = time.monotonic() - began
    return server, ready


def free_port() -> int:
    """For servers that cannot choose one themselves and say which."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def wait_for_port(server: Server, port: int) -> None:
    """Sets the server's address once it accepts connections there."""
    deadline = time.monotonic() + READY_SECONDS_MAX
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(f"{server.name} did not start: {server.log_tail()}") from None
            time.sleep(_POLL_SECONDS)
    server.address = f"127.0.0.1:{port}"


def _read_ready(path: Path) -> dict[str, Any] | None:
    try:
        ready = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return ready if isinstance(ready, dict) else None


def _session(leader: int) -> list[int]:
    """The processes of the session that `leader` opened, itself among them."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if os.getsid(int(entry.name)) == leader:
                    members.append(int(entry.name))
            except ProcessLookupError:
                continue
    return members


def _cpu_seconds(pid: int) -> float:
    """The kernel's CPU clock of another process (as clock_getcpuclockid names it).

    It is the sum of utime and stime in /proc/<pid>/stat, in nanoseconds instead of the 10 ms
    steps that would blur a run of half a second.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        # It has ended since it was listed; its parent has its time.
        return 0.0


def _ended_seconds(pid: int) -> float:
    """CPU time of the children that a process has waited for, and of theirs."""
    try:
        return sum(map(int, _stat(pid)[_ENDED_FIELDS])) / _TICKS_PER_SECOND
    except OSError:
        return 0.0


def _age_seconds(pid: int) -> float:
    started = int(_stat(pid)[_STARTED_FIELD]) / _TICKS_PER_SECOND
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _resident_mb(pid: int) -> float:
    """Its own pages, and its share of those that it has in common with others."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * _KIB / 1e6
    raise ServerFailed(f"/proc/{pid}/smaps_rollup has no Pss")


def _status_mb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * _KIB / 1e6
    raise ServerFailed(f"/proc/{pid}/status has no {field}")
