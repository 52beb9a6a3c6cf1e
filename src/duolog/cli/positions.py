"""Positions in a topic: `start`, `end`, `10`, `@-1h`, `@2026-01-01T00:00:00Z`, and ranges
`FROM:TO`.

An offset or a time alone means from there on.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from duolog.cli.failures import ExitCode, Failure

_POSITION = r"""
    start | end
  | \d{1,18}
  | @-\d{1,12}(?:ms|s|m|h|d|w)
  | @\d{12,14}
  | @\d{4}-\d\d-\d\d (?: T\d\d:\d\d (?: :\d\d (?:\.\d{1,6})? )? (?: Z | [+-]\d\d:?\d\d )? )?
"""
_ONE = re.compile(_POSITION, re.VERBOSE)
_RANGE = re.compile(rf"(?P<first>{_POSITION})(?::(?P<end>{_POSITION}))?", re.VERBOSE)
_UNIT_MS = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_EXAMPLES = "start, end, 10, 10:20, @-1h, @-1h:end or @2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Position:
    kind: Literal["start", "end", "offset", "time"]
    value: int = 0
    """An offset, or milliseconds since 1970."""


class Range(NamedTuple):
    first: Position
    end: Position | None
    """End of the range, excluded; None if only a beginning was given."""


def parse_range(text: str, now_ms: int) -> Range:
    matched = _RANGE.fullmatch(text)
    if matched is None:
        raise _no_position(text)
    first = _read(matched["first"], now_ms)
    if matched["end"] is None:
        return Range(first, None)
    end = _read(matched["end"], now_ms)
    if first.kind == end.kind and first.value >= end.value:
        raise Failure(
            f"The range {text} is empty: its end, which is excluded, does not lie behind its"
            " beginning. Give the beginning first, as in 10:20.",
            ExitCode.USAGE,
        )
    return Range(first, end)


def parse_position(text: str, now_ms: int) -> Position:
    if _ONE.fullmatch(text) is None:
        raise _no_position(text)
    return _read(text, now_ms)


def _read(text: str, now_ms: int) -> Position:
    if text == "start":
        return Position("start")
    if text == "end":
        return Position("end")
    if not text.startswith("@"):
        return Position("offset", int(text))
    if text.startswith("@-"):
        digits = text[2:].rstrip("abcdefghijklmnopqrstuvwxyz")
        return Position("time", now_ms - int(digits) * _UNIT_MS[text[2 + len(digits) :]])
    if text[1:].isdigit():
        return Position("time", int(text[1:]))
    try:
        moment = datetime.fromisoformat(text[1:])
    except ValueError:
        raise _no_position(text) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Position("time", round(moment.timestamp() * 1000))


def _no_position(text: str) -> Failure:
    return Failure(
        f"'{text}' is no place in a topic. Give {_EXAMPLES}.",
        ExitCode.USAGE,
    )
