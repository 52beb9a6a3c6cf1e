"""A command is over before its user has looked up."""

import json
import os
import subprocess
import sys

import pytest
from tests.cli.conftest import SECONDS_MAX, Command

CALL_CPU_SECONDS_MAX = 0.75
"""Of 300 ms that a call may take on an idle core, with room for a slower host. Packages
that only tests install are among what is imported here."""

HEAVY = {"pydantic", "prometheus_client", "rich", "structlog", "uvloop", "cryptography"}
"""What no simple command needs, and takes long to import."""

CALLS = [("topic", "ls"), ("queue", "ls"), ("group", "ls"), ("complete", "fish", "--", "queue", "")]


@pytest.mark.parametrize("arguments", CALLS)
def test_a_simple_command_imports_no_more_than_it_needs(
    duolog: Command, arguments: tuple[str, ...]
) -> None:
    program = (
        "import sys, json\nfrom duolog.cli.main import app\n"
        f"app({list(arguments)!r}, standalone_mode=False)\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        env=duolog.environ,
        check=True,
        timeout=SECONDS_MAX,
    )
    assert set(json.loads(done.stderr)) & HEAVY == set()


@pytest.mark.parametrize("arguments", CALLS)
def test_a_simple_command_takes_little_of_a_processor(
    duolog: Command, arguments: tuple[str, ...]
) -> None:
    def cpu_seconds() -> float:
        """Not the time on a clock, which is that of a busy machine."""
        before = os.times()
        assert duolog(*arguments).code == 0
        after = os.times()
        user = after.children_user - before.children_user
        return user + after.children_system - before.children_system

    assert min(cpu_seconds() for _ in range(5)) < CALL_CPU_SECONDS_MAX
