"""A shell and a Python program for one page: a block finds what earlier ones left."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS_MAX = 120.0
"""For one block. Spark's first query alone takes a sixth of it."""
PYTHON_PROGRAM = Path(__file__).parent / "python_session.py"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str = ""

    @property
    def everything(self) -> str:
        return self.out + self.err


class ShellSession:
    """Each block is a bash of its own, which takes over variables and directory of the last."""

    def __init__(self, scratch: Path, environ: Mapping[str, str]) -> None:
        self._scratch = scratch
        self._environ = dict(environ)
        self._state = scratch / ".shell"
        self._state.mkdir()
        self._count = 0
        self._groups: list[int] = []

    def run(self, text: str) -> Ran:
        """What it leaves running in the background runs until the end."""
        self._count += 1
        output = self._state / f"output-{self._count}"
        with output.open("wb") as printed:
            process = subprocess.Popen(
                ["bash", "-c", self._script(text)],
                cwd=self._scratch,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._groups.append(process.pid)
        try:
            code = process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return Ran(-1, f"{output.read_text()}\nit did not end within {SECONDS_MAX:.0f} s")
        return Ran(code, output.read_text(errors="replace"))

    def _script(self, text: str) -> str:
        variables, directory = self._state / "variables", self._state / "directory"
        return "\n".join(
            [
                f'[ -e {variables} ] && . {variables} && cd "$(cat {directory})"',
                f"trap 'code=$?; export -p > {variables}; pwd > {directory}; exit $code' EXIT",
                "set -e",
                text,
            ]
        )

    def end(self) -> None:
        for group in self._groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


class PythonSession:
    """One program: names, connections and imports stay from block to block."""

    def __init__(self, scratch: Path, environ: Mapping[str, str]) -> None:
        self._out, self._err = scratch / ".python-out", scratch / ".python-err"
        given, blocks = os.pipe()
        answers, answering = os.pipe()
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-u", PYTHON_PROGRAM, str(given), str(answering)],
                cwd=scratch,
                env={**environ, "PYTHONPATH": str(scratch)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=(given, answering),
                start_new_session=True,
            )
        os.close(given)
        os.close(answering)
        self._blocks = os.fdopen(blocks, "w")
        self._answers = os.fdopen(answers)

    def run(self, text: str, page: str, line: int) -> Ran:
        out_from, err_from = self._out.stat().st_size, self._err.stat().st_size
        self._blocks.write(json.dumps({"text": text, "page": page, "line": line}) + "\n")
        self._blocks.flush()
        ready, _, _ = select.select([self._answers], [], [], SECONDS_MAX)
        answer = self._answers.readline() if ready else ""
        code = 0 if answer and json.loads(answer)["done"] else 1
        note = "" if answer else f"\nit did not end within {SECONDS_MAX:.0f} s, or ended Python"
        return Ran(
            code,
            self._out.read_bytes()[out_from:].decode(errors="replace"),
            self._err.read_bytes()[err_from:].decode(errors="replace") + note,
        )

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with suppress(BrokenPipeError):
            self._blocks.close()
        self._answers.close()
