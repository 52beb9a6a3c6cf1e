"""Modules are small, say what they are for, and are named for what they hold."""

import ast

import pytest
from tests.style.sources import name_of, package_modules

LINES_MAX = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
INTRODUCING = (ast.Expr, ast.Assign, ast.ImportFrom)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name_of(module): module.read_text() for module in package_modules()}


def test_a_module_has_a_docstring(texts: dict[str, str]) -> None:
    silent = [name for name, text in texts.items() if not ast.get_docstring(ast.parse(text))]
    assert silent == [], "say what they are for"


def test_a_module_can_be_read_in_one_sitting(texts: dict[str, str]) -> None:
    assert [name for name, text in texts.items() if len(text.splitlines()) > LINES_MAX] == []


def test_a_module_is_named_for_what_it_holds() -> None:
    assert [
        name_of(module)
        for module in package_modules()
        if VAGUE_NAMES & {module.stem, module.parent.name}
    ] == []


def test_a_package_only_introduces_itself(texts: dict[str, str]) -> None:
    packages = {name: text for name, text in texts.items() if name.endswith("__init__.py")}
    assert packages
    assert [
        name
        for name, text in packages.items()
        if not all(isinstance(statement, INTRODUCING) for statement in ast.parse(text).body)
    ] == []
