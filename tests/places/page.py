"""The tables of places in CONTRIBUTING.md."""

import re

_SECTION = re.compile(r"^### (.*)$", re.MULTILINE)
_ROW = re.compile(r"^\| `(?P<path>[^`]+)`(?:, `(?P<name>[^`]+)`)? \|", re.MULTILINE)
HEADING = "## Where a feature goes\n"


def places_on(page: str) -> list[tuple[str, str, str]]:
    """Kind, path and name of each row, in the order of the page."""
    chapter = page.split(HEADING)[1].split("\n## ")[0]
    parts = _SECTION.split(chapter)
    return [
        (kind, row["path"], row["name"] or "")
        for kind, text in zip(parts[1::2], parts[2::2], strict=True)
        for row in _ROW.finditer(text)
    ]
