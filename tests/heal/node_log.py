"""What nodes have logged: leases that they lost, long turns, tracebacks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

REGISTERED = "registered"
SUSPENDED = "this node is suspended until its lease is renewed"
LONG_TURN = "the event loop is held up by a long turn"
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Line:
    at: float
    """Seconds of the wall clock."""
    event: str
    level: str
    text: str
    stack: tuple[str, ...] = ()


class NodeLog:
    """All lines of all processes of a node."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def leases_lost(self, since: float, until: float) -> list[float]:
        """When a process had to register again, because its lease had ended."""
        found = []
        for file in self._files():
            registered = [line.at for line in _lines(file) if line.event == REGISTERED]
            found += [at for at in registered[1:] if since <= at < until]
        return found

    def lines(self, event: str, since: float, until: float) -> list[Line]:
        return [
            line
            for file in self._files()
            for line in _lines(file)
            if line.event == event and since <= line.at < until
        ]

    def tracebacks(self) -> int:
        return sum(file.read_text(errors="replace").count(TRACEBACK) for file in self._files())

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("stderr.*"), key=lambda each: int(each.suffix[1:]))


def _lines(file: Path) -> Iterator[Line]:
    for text in file.read_text(errors="replace").splitlines():
        try:
            fields = json.loads(text)
            at = datetime.fromisoformat(fields["timestamp"]).timestamp()
        except (ValueError, KeyError, TypeError):
            continue
        stack = tuple(fields.get("stack", ()))
        yield Line(at, fields.get("event", ""), fields.get("level", ""), text, stack)
