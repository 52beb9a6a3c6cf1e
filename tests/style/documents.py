"""The pages that readers meet, and what they point at."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.style.sources import ROOT

LEADING = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
KEPT = (".ci", "bench", "deploy", "docs", "examples", "src", "tests", "tools")
"""Folders whose files pages name; others are made by running something."""
FOLDERS = {
    each.name
    for base in (ROOT, ROOT / "src", ROOT / "src" / "duolog")
    for each in base.iterdir()
    if each.is_dir() and (base != ROOT or each.name in KEPT) and not each.name.startswith("__")
}
"""A path that begins with one of them is one of the repository."""
SUFFIXES = (".py", ".md", ".c", ".svg", ".service")
"""Of files that are the repository's, not a node's own."""

_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_MADE = re.compile(r"(?:cat > |<!-- file: )([\w./-]+)")
_PATH = re.compile(r"\.?[\w.-]+(?:/[\w.-]+)*/?")


def pages() -> list[Path]:
    return [ROOT / name for name in LEADING] + sorted((ROOT / "docs").glob("*.md"))


def links(text: str) -> list[str]:
    """Targets of links and pictures that are not elsewhere on the web."""
    found = _LINK.findall(_FENCE.sub("", text))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(text: str) -> set[str]:
    """Names under which the headings of a page can be linked to, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = re.sub(r"[^\w\- ]", "", _LINK.sub("]", heading).lower())
        name = plain.strip().replace(" ", "-")
        number = 0
        while (unique := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(unique)
    return found


def named_paths(text: str) -> Iterator[str]:
    """Words in backticks that look like a path of the repository, and not of a reader's file."""
    made = set(_MADE.findall(text))
    for word in _CODE.findall(_FENCE.sub("", text)):
        path = word.split("::")[0]
        if not _PATH.fullmatch(path):
            continue
        first = path.split("/")[0]
        if path in made:
            continue
        if path.endswith(SUFFIXES) or ("/" in path and first in FOLDERS):
            yield path


@cache
def _endings() -> set[str]:
    """Every path of the repository, and what is left of it without its first folders."""
    found = {path.name for path in ROOT.iterdir()}
    for folder in KEPT:
        for path in (ROOT / folder).rglob("*"):
            parts = path.relative_to(ROOT).parts
            if "__pycache__" not in parts:
                found |= {"/".join(parts[at:]) for at in range(len(parts))}
    return found


def is_there(path: str) -> bool:
    """Whether there is such a file or folder. Pages leave out the first folders of a path, and
    the suffix of a module."""
    return not {path.rstrip("/"), f"{path}.py"}.isdisjoint(_endings())
