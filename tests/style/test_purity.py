"""What decides is told the time, and touches nothing outside.

import-linter holds this too; here a violation is named with its line.
"""

import ast

import pytest
from tests.style.sources import PACKAGE, name_of

PURE = ("model", "records", "wire", "core")
FORBIDDEN = {"asyncio", "logging", "os", "random", "socket", "threading", "time", "uvloop"}

WAITING = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    modules = [path for folder in PURE for path in (PACKAGE / folder).rglob("*.py")]
    assert len(modules) > len(PURE)
    return {name_of(module): ast.parse(module.read_text()) for module in sorted(modules)}


def imported(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and top-level name of everything a module imports, wherever in it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name.split(".")[0]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.lineno, node.module.split(".")[0]))
    return found


def test_a_pure_module_imports_nothing_of_the_outside(trees: dict[str, ast.Module]) -> None:
    assert [
        f"{name}:{line} {used}"
        for name, tree in trees.items()
        for line, used in imported(tree)
        if used in FORBIDDEN
    ] == []


def test_a_pure_module_waits_for_nothing(trees: dict[str, ast.Module]) -> None:
    assert [
        f"{name}:{node.lineno}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, WAITING)
    ] == []
