"""docs/cli.md knows every command and every exit code."""

from pathlib import Path

import pytest
from tests.unit.cli.test_nouns import VERBS

from duolog.cli.failures import ExitCode
from duolog.cli.output import Format

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("noun", "verb"), [(noun, verb) for noun in VERBS for verb in sorted(VERBS[noun])]
)
def test_a_command_is_on_the_page(noun: str, verb: str) -> None:
    assert f"| `{noun} {verb}" in PAGE


@pytest.mark.parametrize("code", ExitCode)
def test_an_exit_code_is_on_the_page(code: ExitCode) -> None:
    assert f"\n| {int(code)} | " in PAGE


@pytest.mark.parametrize("form", Format)
def test_a_format_is_on_the_page(form: Format) -> None:
    assert f"`-o {form}`" in PAGE


@pytest.mark.parametrize("command", ["completion", "version", "serve", "config show"])
def test_what_is_no_noun_is_on_the_page(command: str) -> None:
    assert f"`{command}" in PAGE
