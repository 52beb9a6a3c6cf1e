"""Line numbers of keys in a TOML text, for error messages. Pure.

Finds tables and keys written one to a line, as in price lists. For keys written otherwise, such as
those of an inline table, the line of the enclosing table or key is the answer.
"""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*(["']?)([\w.-]+)\1\s*=""")

Path = tuple[str | int, ...]
"""Keys, and in arrays of tables the index, from the outermost inwards."""


def key_lines(text: str) -> dict[Path, int]:
    """Line of each key, counted from 1."""
    found: dict[Path, int] = {(): 1}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            names = tuple(each.strip(" \"'") for each in header[2].split("."))
            table = _within(names[:-1], counts)
            if header[1] == "[[":
                array = (*table, names[-1])
                found.setdefault(array, number)
                counts[array] = counts.get(array, -1) + 1
                table = (*array, counts[array])
            else:
                table = (*table, names[-1])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, key[2]), number)
    return found


def line_of(found: dict[Path, int], path: Sequence[str | int]) -> int:
    """Line of the key, or else of the innermost known table around it."""
    place = tuple(path)
    while place not in found:
        place = place[:-1]
    return found[place]


def _within(names: Sequence[str], counts: dict[Path, int]) -> Path:
    """Path of a table; below an array of tables, that of its last element."""
    path: Path = ()
    for name in names:
        path = (*path, name)
        if path in counts:
            path = (*path, counts[path])
    return path
