"""Values on a command line: what a parameter accepts, and how its text is parsed.

Typer would load pydantic for this, which takes longer than many a command, and whose words are for
programmers.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from duolog.config import setting


class Unfit(Exception):
    """A text that the parameter does not accept: says what was given, why not, and what to do."""


class Accepted(NamedTuple):
    """Requirements on one value of a parameter."""

    kind: Any
    least: float | None = None
    most: float | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        is_choice = isinstance(self.kind, type) and issubclass(self.kind, Enum)
        return tuple(str(each.value) for each in self.kind) if is_choice else ()

    @property
    def bounds(self) -> str:
        """Bounds in words, such as `0 or more` or `1 to 9`; empty without any."""
        if self.least is None:
            return "" if self.most is None else f"{self.most:,} or less"
        return (
            f"{self.least:,} or more" if self.most is None else f"{self.least:,} to {self.most:,}"
        )

    def read(self, text: str, where: str) -> Any:
        """Parse a value; `where` names the option or argument in errors. Raises Unfit."""
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
    """Requirements on a value; of a parameter that may be repeated, on each of its values."""
    kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return Accepted(kind, least, most)


def either(texts: Sequence[str]) -> str:
    """The texts as a choice: `table, json or jsonl`."""
    *others, last = texts
    return f"{', '.join(others)} or {last}" if others else last


def likely(text: str, known: Iterable[str]) -> str | None:
    """The known name most similar to a mistyped text, if one is similar enough."""
    return setting.nearest(text, known, likeness=0.6)
