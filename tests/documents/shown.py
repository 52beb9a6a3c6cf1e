"""Compares what was printed with what a page shows."""

import difflib
import re

ANYTHING = "..."
"""On a line of its own: any lines. Within a line: anything up to the end of it."""


def differences(shown: str, printed: str) -> str:
    """Nothing where they agree; else what to look at, for people."""
    wanted, given = _lines(shown), _lines(printed)
    if re.fullmatch(_pattern(wanted), "".join(f"{line}\n" for line in given)):
        return ""
    return "\n".join(difflib.unified_diff(wanted, given, "shown", "printed", lineterm="", n=50))


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def _pattern(lines: list[str]) -> str:
    parts = []
    for line in lines:
        if line.strip() == ANYTHING:
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*?".join(map(re.escape, line.split(ANYTHING))) + r"\n")
    return "".join(parts)
