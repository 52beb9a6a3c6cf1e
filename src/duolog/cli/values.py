"""Values on a command line: what a parameter accepts, and what a text means to it.

Typer would load pydantic for this, which takes longer than many a command, and whose words are
for programmers.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from duolog.config import setting


class Unfit(Exception):
    """The text is not what the parameter accepts. Says what was given, why not, and what to do."""


class Accepted(NamedTuple):
    """What one value of a parameter has to be."""

    kind: Any
    least: float | None = None
    most: float | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        is_choice = isinstance(self.kind, type) and issubclass(self.kind, Enum)
        return tuple(str(each.value) for each in self.kind) if is_choice else ()

    @property
    def bounds(self) -> str:
        """Empty without any: `0 or more`, `1 to 9`."""
        if self.least is None:
            return "" if self.most is None else f"{self.most:,} or less"
        return (
            f"{self.least:,} or more" if self.most is None else f"{self.least:,} to {self.most:,}"
        )

    def read(self, text: str, where: str) -> Any:
        """`where` is the option or argument, as users know it. Raises Unfit."""
        if self.choices:
            return self._chosen(text, where)
        if self.kind in (int, float):
            return self._number(text, where)
        return Path(text) if self.kind is Path else text

    def _chosen(self, text: str, where: str) -> Any:
        if text in self.choices:
            return self.kind(text)
        meant = likely(text, self.choices)
        advice = f" Did you mean '{meant}'?" if meant else ""
        raise Unfit(f"{where} was given '{text}', but takes {either(self.choices)}.{advice}")

    def _number(self, text: str, where: str) -> float:
        try:
            number: float = self.kind(text)
        except ValueError:
            number = float("nan")
        least = float("-inf") if self.least is None else self.least
        most = float("inf") if self.most is None else self.most
        # Written so that NaN, which compares false with everything, is refused too.
        if not least <= number <= most:
            wanted = "a whole number" if self.kind is int else "a number"
            bounds = self.bounds if "or" in self.bounds else f"from {self.bounds}"
            wanted += f", {bounds}" if self.bounds else ""
            raise Unfit(f"{where} was given '{text}', but takes {wanted}.")
        return number


def accepted(annotation: Any, least: float | None, most: float | None) -> Accepted:
    """Of a parameter that may be repeated, what each value has to be."""
    kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return Accepted(kind, least, most)


def either(texts: Sequence[str]) -> str:
    """`table, json or jsonl`."""
    *others, last = texts
    return f"{', '.join(others)} or {last}" if others else last


def likely(text: str, known: Iterable[str]) -> str | None:
    """What was probably meant by a text, of which two letters may have changed places."""
    return setting.nearest(text, known, likeness=0.6)
