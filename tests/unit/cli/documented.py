"""The commands, as the page docs/cli.md has them."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")

_COMMAND = re.compile(r"`([a-z]+(?: [a-z]+)?)(?: [^`]*)?`")


def documented_commands() -> set[str]:
    """Such as `queue ls`, of the first cell of each row of the table Commands."""
    section = PAGE.split("\n## Commands\n")[1].split("\n## ")[0]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    return {command for cell in cells for command in _COMMAND.findall(cell)}


def documented_verbs() -> dict[str, set[str]]:
    """By noun."""
    verbs: dict[str, set[str]] = {}
    for command in documented_commands():
        noun, _, verb = command.partition(" ")
        if verb:
            verbs.setdefault(noun, set()).add(verb)
    return verbs
