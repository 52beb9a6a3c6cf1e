"""One node for all of these tests, and the real command as a subprocess."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.harness.node import Node

SECONDS_MAX = 30.0

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@dataclass(frozen=True)
class Command:
    """`duolog …`, told by its environment where the node is."""

    environ: dict[str, str]

    def __call__(self, *arguments: str, lines: str | bytes = b"") -> Done:
        given = lines.encode() if isinstance(lines, str) else lines
        done = subprocess.run(
            self.line(*arguments),
            input=given,
            capture_output=True,
            env=self.environ,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def json(self, *arguments: str, lines: str | bytes = b"") -> Any:
        """What a command that succeeds prints for programs."""
        return self(*arguments, "-o", "json", lines=lines).rows

    def start(self, *arguments: str, **more: Any) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self.line(*arguments), env=self.environ, preexec_fn=_heed_interrupts, **more
        )

    def line(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "duolog", *arguments]


def _heed_interrupts() -> None:
    """Who is run in the background ignores them, and would pass that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory: Path = tmp_path_factory.mktemp("cli")
    with Node(directory) as node:
        yield node


@pytest.fixture(scope="session")
def duolog(node: Node) -> Command:
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DUOLOG_", "AWS_"))
    }
    addresses = {"KAFKA": node.kafka, "SQS": node.sqs, "ADMIN": node.admin}
    return Command(
        environ | {f"DUOLOG_{door}_LISTEN": address for door, address in addresses.items()}
    )


def new_name() -> str:
    """One that no other test uses."""
    return f"name-{next(_numbers)}"


@pytest.fixture
def name() -> str:
    """Nothing is created."""
    return new_name()


Eventually = Callable[[Callable[[], bool]], None]


@pytest.fixture
def eventually() -> Eventually:
    def wait(is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS_MAX
        while not is_so():
            assert time.monotonic() < deadline, "it never became so"
            time.sleep(0.05)

    return wait
