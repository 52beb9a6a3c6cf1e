"""A real etcd of one or more members on this machine, to be killed, frozen and compacted."""

import atexit
import base64
import json
import shutil
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.harness.machine import THIS_MACHINE, Machine
from tests.harness.ports import free_port

from duolog.adapters.etcd.address import Endpoint

HEALTHY_SECONDS_MAX = 40.0
ASK_SECONDS_MAX = 15.0
POLL_SECONDS = 0.02
LOG_CHARS_SHOWN = 3_000
HEARTBEAT_MS = 50
ELECTION_MS = 300
"""Short, as all members are on one machine; a lease can then be as short as one second."""

is_installed = shutil.which("etcd") is not None


class EtcdFailed(AssertionError):
    """etcd did not do what was asked; the end of its log is in the text."""


class Etcd:
    """Members in directories of their own. Started again, one has the same data and address.

    Use it as a context manager: it starts all members, and ends whatever still runs.
    """

    def __init__(
        self,
        directory: Path,
        members: int = 1,
        *,
        options: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
        machines: Sequence[Machine] | None = None,
    ) -> None:
        """`tls`: how to reach members whose options give them a certificate."""
        self._directory = directory
        self._options = list(options)
        self._tls = tls
        self._scheme = "https" if tls else "http"
        ports = [free_port() for _ in range(2 * members)]
        self._machines = machines or [THIS_MACHINE] * members
        self.endpoints = [
            Endpoint(machine.host, port)
            for machine, port in zip(self._machines, ports[:members], strict=True)
        ]
        self._peer_ports = ports[members:]
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * members
        self._frozen: set[int] = set()
        # A test that fails may not get to stop it.
        atexit.register(self.stop)

    @property
    def address(self) -> str:
        """As settings have it."""
        return f"{'etcds' if self._tls else 'etcd'}://{','.join(map(str, self.endpoints))}"

    def start(self, member: int) -> None:
        """Start one member without waiting for it."""
        assert self._processes[member] is None, f"member {member} runs already"
        self._directory.mkdir(parents=True, exist_ok=True)
        name = self._name(member)
        client = f"{self._scheme}://{self.endpoints[member]}"
        peers = [
            f"http://{machine.host}:{port}"
            for machine, port in zip(self._machines, self._peer_ports, strict=True)
        ]
        cluster = ",".join(f"{self._name(at)}={peer}" for at, peer in enumerate(peers))
        command = ["etcd", "--name", name, "--data-dir", str(self._directory / name)]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peers[member]]
        command += ["--initial-advertise-peer-urls", peers[member], "--initial-cluster", cluster]
        command += ["--heartbeat-interval", str(HEARTBEAT_MS)]
        command += ["--election-timeout", str(ELECTION_MS), *self._options]
        with self._log(member).open("ab") as log, self._machines[member].entered():
            self._processes[member] = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._directory
            )

    def kill(self, member: int) -> None:
        """SIGKILL, frozen or not."""
        process = self._processes[member]
        if process is not None:
            process.kill()
            process.wait()
            self._processes[member] = None
            self._frozen.discard(member)

    def freeze(self, member: int) -> None:
        """SIGSTOP: connections stay, and are accepted, but nothing is said any more."""
        self._signal(member, signal.SIGSTOP)
        self._frozen.add(member)

    def thaw(self, member: int) -> None:
        self._signal(member, signal.SIGCONT)
        self._frozen.discard(member)

    def stop(self) -> None:
        for member in range(len(self._processes)):
            self.kill(member)

    def until_healthy(self, members: Sequence[int] | None = None) -> None:
        """Wait until these members, or all, know a leader that a majority follows."""
        deadline = time.monotonic() + HEALTHY_SECONDS_MAX
        for member in members if members is not None else range(len(self._processes)):
            while not self._is_healthy(member):
                process = self._processes[member]
                if process is None or process.poll() is not None:
                    raise self._failure(member, "does not run")
                if time.monotonic() > deadline:
                    raise self._failure(member, f"not healthy in {HEALTHY_SECONDS_MAX:.0f} s")
                time.sleep(POLL_SECONDS)

    def leader(self) -> int:
        """The member that leads; of several that believe to, the one elected last."""
        deadline = time.monotonic() + HEALTHY_SECONDS_MAX
        while time.monotonic() < deadline:
            terms: dict[int, int] = {}
            for member in self._serving():
                status = self._try(member, "/v3/maintenance/status")
                if status is not None and status["header"]["member_id"] == status.get("leader"):
                    terms[member] = int(status["raftTerm"])
            if terms:
                return max(terms, key=terms.__getitem__)
            time.sleep(POLL_SECONDS)
        raise self._failure(0, "no member leads")

    def compact(self) -> int:
        """Forget all history before the present revision, which is returned."""
        revision = int(self.ask("/v3/kv/range", {"key": _base64("none")})["header"]["revision"])
        self.ask("/v3/kv/compaction", {"revision": revision, "physical": True})
        return revision

    def lease_ids(self) -> list[int]:
        return [int(lease["ID"]) for lease in self.ask("/v3/lease/leases", {}).get("leases", [])]

    def revoke_leases(self) -> None:
        for lease in self.lease_ids():
            self.ask("/v3/lease/revoke", {"ID": lease})

    def answers(self, seconds_max: float) -> bool:
        """Whether it has a leader and answers a linearizable read within this time."""
        try:
            self.ask("/v3/kv/range", {"key": _base64("none")}, seconds_max=seconds_max)
        except (OSError, ValueError):
            return False
        return True

    def ask(
        self,
        path: str,
        request: dict[str, Any],
        member: int | None = None,
        *,
        seconds_max: float = ASK_SECONDS_MAX,
    ) -> dict[str, Any]:
        """What the gateway of one member, by default of any that can, answers."""
        if member is None:
            member = self._serving()[0]
        body = json.dumps(request).encode()
        url = f"{self._scheme}://{self.endpoints[member]}{path}"
        with urllib.request.urlopen(url, body, timeout=seconds_max, context=self._tls) as answer:
            answered: dict[str, Any] = json.load(answer)
            return answered

    def __enter__(self) -> "Etcd":
        with ExitStack() as stack:
            stack.callback(self.stop)
            for member in range(len(self._processes)):
                self.start(member)
            self.until_healthy()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        atexit.unregister(self.stop)

    def _serving(self) -> list[int]:
        running = [at for at, process in enumerate(self._processes) if process is not None]
        return [member for member in running if member not in self._frozen]

    def _is_healthy(self, member: int) -> bool:
        return self._try(member, "/v3/kv/range", {"key": _base64("none")}) is not None

    def _try(
        self, member: int, path: str, request: dict[str, Any] | None = None
    ) -> dict[str, Any] | None:
        try:
            return self.ask(path, request or {}, member)
        except urllib.error.HTTPError as error:
            # A member that wants to know who asks is there.
            return {} if b"user name is empty" in error.read() else None
        except (OSError, ValueError):
            return None

    def _signal(self, member: int, number: signal.Signals) -> None:
        process = self._processes[member]
        assert process is not None, f"member {member} does not run"
        process.send_signal(number)

    def _failure(self, member: int, reason: str) -> EtcdFailed:
        log = self._log(member)
        text = log.read_text(errors="replace")[-LOG_CHARS_SHOWN:] if log.exists() else ""
        return EtcdFailed(f"etcd's member {member}: {reason}\n--- {log} ---\n{text}")

    def _log(self, member: int) -> Path:
        return self._directory / f"{self._name(member)}.log"

    @staticmethod
    def _name(member: int) -> str:
        return f"member{member}"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
