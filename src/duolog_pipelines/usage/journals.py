"""Sequences of journals that were taken, and gaps between them. Pure.

Each node's data directory has one journal. Its sequences begin at 0 and have no gaps; each has one
sheet or several. Taking a sheet twice changes nothing.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import msgspec

GAPS_NAMED_MAX = 20
"""Limit of gaps named in an error, which counts the others."""


class JournalName(NamedTuple):
    node: int
    journal: str

    def __str__(self) -> str:
        return f"journal {self.journal} of node {self.node}"


class Run(NamedTuple):
    """Consecutive sequences; both ends are included."""

    first: int
    last: int


class Part(msgspec.Struct):
    """A sequence of which sheets are missing."""

    parts: int
    there: set[int]


@dataclass
class Journal:
    runs: list[Run] = field(default_factory=list)
    """Runs of complete sequences, in order and apart from each other."""
    parts: dict[int, Part] = field(default_factory=dict)
    """Incomplete sequences, by number."""

    @property
    def end(self) -> int:
        """End of the first run: all sequences below are complete."""
        return self.runs[0].last + 1 if self.runs and self.runs[0].first == 0 else 0

    def take(self, sequence: int, part: int, parts: int) -> bool:
        """Take a sheet; False if it was taken before."""
        index = bisect_right(self.runs, sequence, key=attrgetter("first"))
        if index and sequence <= self.runs[index - 1].last:
            return False
        found = self.parts.setdefault(sequence, Part(parts, set()))
        if part in found.there:
            return False
        found.there.add(part)
        if len(found.there) >= found.parts:
            del self.parts[sequence]
            self._add(sequence, index)
        return True

    def _add(self, sequence: int, index: int) -> None:
        """Add a complete sequence, whose own run would be at this index."""
        first = last = sequence
        begin = end = index
        if index and self.runs[index - 1].last + 1 == sequence:
            begin, first = index - 1, self.runs[index - 1].first
        if index < len(self.runs) and self.runs[index].first == sequence + 1:
            end, last = index + 1, self.runs[index].last
        self.runs[begin:end] = [Run(first, last)]

    def gaps(self) -> list[str]:
        """Missing sequences and parts up to the last one present, in words."""
        ends = sorted([*self.runs, *(Run(each, each) for each in self.parts)])
        named, expected = [], 0
        for each in ends:
            if each.first > expected:
                named.append((expected, _words(Run(expected, each.first - 1))))
            expected = each.last + 1
        for sequence, part in self.parts.items():
            missing = sorted(set(range(part.parts)) - part.there)
            shown = ", ".join(map(str, missing[:GAPS_NAMED_MAX]))
            named.append((sequence, f"parts {shown} of the {part.parts} of sequence {sequence}"))
        return [words for _, words in sorted(named)]


class _StoredJournal(msgspec.Struct):
    node: int
    journal: str
    runs: list[Run]
    parts: dict[int, Part]


class Journals:
    """All journals. Sheets are taken here before their lines are added, so that none is added
    twice."""

    def __init__(self, known: Mapping[JournalName, Journal] | None = None) -> None:
        self._known = dict(known or {})

    def __getitem__(self, name: JournalName) -> Journal:
        return self._known.setdefault(name, Journal())

    def items(self) -> list[tuple[JournalName, Journal]]:
        return sorted(self._known.items())

    def end_of(self, name: JournalName) -> int:
        """End of the complete sequences of a journal."""
        found = self._known.get(name)
        return 0 if found is None else found.end

    def gaps(self) -> list[str]:
        return [f"{name} lacks {gap}" for name, journal in self.items() for gap in journal.gaps()]

    def to_json(self) -> bytes:
        stored = [
            _StoredJournal(name.node, name.journal, journal.runs, journal.parts)
            for name, journal in self.items()
        ]
        return msgspec.json.encode(stored)

    @classmethod
    def from_json(cls, text: bytes) -> "Journals":
        stored = msgspec.json.decode(text, type=list[_StoredJournal])
        return cls(
            {
                JournalName(each.node, each.journal): Journal(each.runs, each.parts)
                for each in stored
            }
        )


def gaps_sentence(gaps: list[str]) -> str:
    shown = "; ".join(gaps[:GAPS_NAMED_MAX])
    more = len(gaps) - GAPS_NAMED_MAX
    return f"{shown}; and {more} more" if more > 0 else shown


def _words(run: Run) -> str:
    if run.first == run.last:
        return f"sequence {run.first}"
    return f"sequences {run.first} to {run.last}"
