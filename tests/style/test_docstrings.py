"""A docstring or note can be understood alone: it begins with a noun or a verb."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.style.sources import name_of, package_modules

LEANING = re.compile(r"(?:What|Of|Whether|Those|That)\b")
"""Beginnings that lean on the name beside them, or on another sentence."""
SHARE_MAX = 0.02
SHOWN_MAX = 20
BODIES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Note(NamedTuple):
    place: str
    text: str


def notes() -> Iterator[Note]:
    """Every string that stands as a statement: docstrings, and notes behind fields."""
    for module in package_modules():
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            for statement in node.body if isinstance(node, BODIES) else ():
                match statement:
                    case ast.Expr(ast.Constant(str(text))):
                        yield Note(f"{name_of(module)}:{statement.lineno}", text.strip())


def test_few_docstrings_lean_on_what_is_around_them() -> None:
    found = list(notes())
    assert len(found) > 4_000
    leaning = [note for note in found if LEANING.match(note.text)]
    shown = [f"{note.place}: {note.text.splitlines()[0]}" for note in leaning[:SHOWN_MAX]]
    assert len(leaning) <= SHARE_MAX * len(found), (
        f"{len(leaning)} of {len(found)} docstrings and notes begin with What, Of, Whether, Those"
        f" or That, and at most {SHARE_MAX:.0%} may; begin with a noun or a verb:\n"
        + "\n".join(shown)
    )
