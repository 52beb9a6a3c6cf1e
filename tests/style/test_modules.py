"""Modules are small, say what they are for, and are named for what they hold."""

import ast
from pathlib import Path

import pytest
from tests.style.sources import name_of, package_modules

LINES_MAX = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}

every_module = pytest.mark.parametrize("module", package_modules(), ids=name_of)


@every_module
def test_a_module_has_a_docstring(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text())), "say what it is for"


@every_module
def test_a_module_can_be_read_in_one_sitting(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= LINES_MAX


@every_module
def test_a_module_is_named_for_what_it_holds(module: Path) -> None:
    assert not VAGUE_NAMES & {module.stem, module.parent.name}


@every_module
def test_a_package_only_introduces_itself(module: Path) -> None:
    if module.name == "__init__.py":
        statements = ast.parse(module.read_text()).body
        kept = (ast.Expr, ast.Assign, ast.ImportFrom)
        assert all(isinstance(statement, kept) for statement in statements)
