"""Runs every fuzz_*.py beside this file for a bounded time; each is also a script of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = int(os.environ.get("DUOLOG_FUZZ_SECONDS", "5"))
GRACE_SECONDS = 60
"""For imports, and for the input that is under way when the time is up."""

SCRIPTS = sorted(Path(__file__).parent.glob("fuzz_*.py"))


def test_there_is_something_to_fuzz() -> None:
    assert SCRIPTS


@pytest.mark.timeout(SECONDS + GRACE_SECONDS + 30)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_only_refusals_come_of_hostile_bytes(script: Path, tmp_path: Path) -> None:
    # Inputs that crash are written to the working directory, hence a temporary one; the
    # input is in the output too, in base64.
    run = subprocess.run(
        [sys.executable, str(script), f"-max_total_time={SECONDS}"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SECONDS + GRACE_SECONDS,
    )
    assert run.returncode == 0, run.stdout[-5_000:]
