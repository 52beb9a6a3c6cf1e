"""The tour leads to places that exist."""

import ast
import re

import pytest
from tests.style.sources import ROOT

PAGE = ROOT / "docs" / "tour.md"
WALKS = ("Produce to fetch", "Send, receive, delete", "A replicated write", "A count to a bill")
STEPS_MAX = 10

_QUOTED = re.compile(r"`([^`]+)`")
_STEP = re.compile(r"^\d+\. .*$", re.MULTILINE)
_NAME = re.compile(r"_?[a-z][a-z0-9_]+|_?[A-Z][a-z]\w*(\.\w+)?")
PLAIN_WORDS = {"acks", "core", "sendfile"}
"""What steps quote beside the names of functions."""


def steps_of(walk: str) -> list[str]:
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {walk}\n")[1].split("\n## ")[0]
    return _STEP.findall(section)


def named_in(step: str) -> list[tuple[str, str]]:
    """Paths and the names that follow them, until the next path. A name of a class that an
    earlier path has is looked for there."""
    found: list[tuple[str, str]] = []
    path = ""
    homes: dict[str, str] = {}
    for quoted in _QUOTED.findall(step):
        if quoted.startswith("src/"):
            path = quoted
        elif path and _NAME.fullmatch(quoted) and quoted not in PLAIN_WORDS:
            owner = quoted.split(".")[0]
            found.append((homes.setdefault(owner, path), quoted))
    return found


def names_defined(path: str) -> set[str]:
    names: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
            methods = (ast.FunctionDef, ast.AsyncFunctionDef)
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, methods)}
    return names


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_has_at_most_ten_steps_and_each_names_a_function(walk: str) -> None:
    steps = steps_of(walk)
    assert 3 <= len(steps) <= STEPS_MAX
    assert [step for step in steps if not named_in(step)] == [], "name a path, then a function"


@pytest.mark.parametrize("walk", WALKS)
def test_each_function_of_the_tour_exists_at_its_path(walk: str) -> None:
    lost = []
    for number, step in enumerate(steps_of(walk), start=1):
        for path, name in named_in(step):
            if not (ROOT / path).is_file():
                lost.append(f"step {number}: there is no {path}")
            elif name not in names_defined(path):
                lost.append(f"step {number}: {path} has no {name}; was it moved or renamed?")
    assert lost == [], f"docs/tour.md, '{walk}', leads nowhere"


def test_what_is_quoted_after_a_path_is_taken_for_a_function() -> None:
    step = "1. `src/a.py` `One.two`, `three` and `src/b.py` `Four.__call__`, then `One.five`."
    assert named_in(step) == [
        ("src/a.py", "One.two"),
        ("src/a.py", "three"),
        ("src/b.py", "Four.__call__"),
        ("src/a.py", "One.five"),
    ]
