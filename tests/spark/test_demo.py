"""The demo, as a user runs it: everything that its clients planted is found."""

import json
import subprocess
import sys
from pathlib import Path

SECONDS_MAX = 280


def test_the_demo_finds_what_it_planted(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "duolog", "demo", "pipeline"]
    argv += ["--data", str(tmp_path / "demo"), "--seed", "7", "-o", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["found_losses"] == told["planted_losses"] > 0
    assert told["found_duplicates"] == told["planted_duplicates"] > 0
    assert told["billed_messages"] == told["archived"] == told["sent"] > 4_000 - 100
    assert 0 < told["replayed"] < told["sent"]


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    argv = [sys.executable, "-m", "duolog", "demo", "pipeline", "--data", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.returncode == 4
    assert "is not empty" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
