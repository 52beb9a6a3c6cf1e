"""docs/cli.md knows every command and every exit code."""

import pytest
import typer
from click import Context
from tests.unit.cli.documented import PAGE, documented_commands
from typer.core import TyperGroup

from duolog.cli.failures import ExitCode
from duolog.cli.main import app
from duolog.cli.nouns import BESIDE, NOUNS
from duolog.cli.output import Format


def registered_commands() -> set[str]:
    """Such as `queue ls`, whether or not anybody has written it down."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    context = Context(root)
    found = set()
    for noun in root.list_commands(context):
        command = root.get_command(context, noun)
        if command.hidden:
            continue
        verbs = command.list_commands(context) if isinstance(command, TyperGroup) else [""]
        found |= {f"{noun} {verb}".strip() for verb in verbs}
    return found


def module_of(command: str) -> str:
    noun = command.split()[0]
    known = NOUNS | BESIDE
    module = known[noun].module if noun in known else "duolog.cli.main"
    return f"src/{module.replace('.', '/')}.py"


def test_every_command_is_on_the_page() -> None:
    assert [
        f"add a row `| `{command}` | <what it does> | <fields in JSON> |` to the table Commands"
        " of docs/cli.md"
        for command in registered_commands()
        if command not in documented_commands()
    ] == []


def test_every_command_on_the_page_is_there() -> None:
    registered = registered_commands()
    assert [
        f"docs/cli.md has `{command}`, which nothing registers: add a function with"
        f" `@app.command()` to {module_of(command)}"
        for command in documented_commands()
        if command not in registered
    ] == []


@pytest.mark.parametrize("code", ExitCode)
def test_an_exit_code_is_on_the_page(code: ExitCode) -> None:
    assert f"\n| {int(code)} | " in PAGE


@pytest.mark.parametrize("form", Format)
def test_a_format_is_on_the_page(form: Format) -> None:
    assert f"`-o {form}`" in PAGE


@pytest.mark.parametrize("command", ["completion", "version", "serve", "config show"])
def test_what_is_no_noun_is_on_the_page(command: str) -> None:
    assert f"`{command}" in PAGE
