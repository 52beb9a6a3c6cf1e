"""What decides is told the time, and touches nothing outside.

import-linter holds this too; here a violation is named with its line.
"""

import ast
from pathlib import Path

import pytest
from tests.style.sources import PACKAGE, name_of

PURE = ("model", "records", "wire", "core")
FORBIDDEN = {"asyncio", "logging", "os", "random", "socket", "threading", "time", "uvloop"}

pure_modules = [path for folder in PURE for path in sorted((PACKAGE / folder).rglob("*.py"))]


def imported(module: Path) -> list[tuple[int, str]]:
    """Line and top-level name of everything a module imports, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name.split(".")[0]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.lineno, node.module.split(".")[0]))
    return found


@pytest.mark.parametrize("module", pure_modules, ids=name_of)
def test_a_pure_module_imports_nothing_of_the_outside(module: Path) -> None:
    assert [use for use in imported(module) if use[1] in FORBIDDEN] == []


@pytest.mark.parametrize("module", pure_modules, ids=name_of)
def test_a_pure_module_waits_for_nothing(module: Path) -> None:
    tree = ast.parse(module.read_text())
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, waiting)] == []
