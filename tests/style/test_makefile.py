"""Whoever waits for make sees what for."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("target", "last"),
    [
        ("run", "Starting a node"),
        ("cluster", "Starting an etcd and three nodes"),
        ("demo-pipeline", "Starting the demo"),
        ("test", "Installing"),
    ],
)
def test_a_first_run_shows_each_step_and_what_pip_does(
    target: str, last: str, tmp_path: Path
) -> None:
    would_run = subprocess.run(
        ["make", "--dry-run", f"VENV={tmp_path / 'venv'}", target],
        capture_output=True,
        check=True,
        cwd=ROOT,
        text=True,
        timeout=60,
    ).stdout
    steps = re.findall(r"==> %s.*?\"(.*?)\"", would_run)
    assert steps[0].startswith("Making a Python environment")
    assert steps[1].startswith("Installing")
    assert steps[-1].startswith(last)
    (install,) = re.findall(r"pip install .*", would_run)
    assert "--quiet" not in install
    assert "version" in would_run
