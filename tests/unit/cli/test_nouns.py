"""Help is quick, whatever there is to help with."""

import os
import subprocess
import sys
from typing import Any

import pytest
from tests.unit.cli.documented import documented_verbs
from typer.testing import CliRunner

from duolog.cli.main import app
from duolog.cli.nouns import BESIDE, NOUNS

HELP_CPU_SECONDS_MAX = 0.2
VERBS = {noun: documented_verbs().get(noun, set()) for noun in NOUNS | BESIDE}
"""As docs/cli.md has them: test_page.py holds that these are the ones there are."""


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


def cpu_seconds(*arguments: str) -> float:
    """Not the time on a clock, which is that of a busy machine."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "duolog", *arguments], capture_output=True, check=True)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def test_help_takes_well_under_a_fifth_of_a_second() -> None:
    assert min(cpu_seconds("--help") for _ in range(5)) < HELP_CPU_SECONDS_MAX


def test_help_names_every_noun() -> None:
    out = invoke("--help").stdout
    for noun in VERBS:
        assert f"{noun:<11} {(NOUNS | BESIDE)[noun].help}" in out


def test_a_package_that_is_left_out_takes_its_nouns_along() -> None:
    program = (
        "import sys\nsys.modules['duolog_pipelines'] = None\n"
        "from duolog.cli.main import app\napp(['--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert "  queue " in done.stdout
    assert "  pipeline " not in done.stdout


@pytest.mark.parametrize("noun", VERBS)
def test_the_help_of_a_noun_names_its_verbs(noun: str) -> None:
    out = invoke(noun, "--help").stdout
    listed = out.partition("Commands:\n")[2].splitlines()
    assert {line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "} == (
        VERBS[noun]
    )


@pytest.mark.parametrize(
    "arguments",
    [(), ("version",), ("completion",), ("config", "show"), ("serve",), ("demo", "pipeline")]
    + [(noun,) for noun in VERBS]
    + [(noun, verb) for noun in VERBS for verb in sorted(VERBS[noun])],
)
def test_a_hyphen_and_h_is_enough_for_help_without_words_for_programmers(
    arguments: tuple[str, ...],
) -> None:
    short, long = invoke(*arguments, "-h"), invoke(*arguments, "--help")
    assert (short.exit_code, short.stdout) == (0, long.stdout)
    for word in ("<str", "<int", "list[", "{", "x>=", "<=x"):
        assert word not in short.stdout.replace("local[*]", "")


@pytest.mark.parametrize("noun", VERBS)
def test_a_noun_alone_shows_its_help(noun: str) -> None:
    assert "Commands:" in invoke(noun).output


@pytest.mark.parametrize(
    ("noun", "verb"), [(noun, verb) for noun in VERBS for verb in sorted(VERBS[noun])]
)
def test_every_command_can_print_json(noun: str, verb: str) -> None:
    out = invoke(noun, verb, "--help").stdout
    assert "-o, --output <table|json|jsonl>" in out


@pytest.mark.parametrize(
    ("noun", "verb"),
    [("topic", "rm"), ("queue", "rm"), ("queue", "purge"), ("group", "reset")],
)
def test_every_command_that_destroys_can_be_rehearsed(noun: str, verb: str) -> None:
    out = invoke(noun, verb, "--help").stdout
    assert "--dry-run" in out
    assert "--yes" in out


@pytest.mark.parametrize("arguments", [("topic", "dance"), ("queue", "send"), ("group", "reset")])
def test_a_wrong_command_line_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    assert invoke(*arguments).exit_code == 2
