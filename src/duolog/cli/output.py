"""Rows on stdout, as a table for people or as JSON for programs.

JSON has every field of a row and a table only some. `json` is always one array, which may be empty;
`jsonl` is one object a line.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from textwrap import indent
from types import TracebackType
from typing import Annotated, Any, Self

import typer

Row = dict[str, Any]

CELL_CHARACTERS_MAX = 500
"""Length at which a cell of a table is cut; JSON has all of it."""


class Format(StrEnum):
    table = "table"
    json = "json"
    jsonl = "jsonl"


FormatOption = Annotated[Format, typer.Option("-o", "--output", help="How to print the result.")]


def print_rows(rows: Sequence[Row], form: Format, columns: Sequence[str]) -> None:
    """Print rows: JSON with every field, or a table with the columns."""
    match form:
        case Format.json:
            print(_json(list(rows), 2))
        case Format.jsonl:
            for row in rows:
                print(_json(row))
        case Format.table:
            print_table([[row[column] for column in columns] for row in rows], columns)


def print_one(row: Row, form: Format, show: Callable[[Row], None]) -> None:
    """Print one object: an array of one for programs, a page of its own for people."""
    if form is Format.table:
        show(row)
    else:
        print_rows([row], form, ())


def print_table(rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> None:
    lines = [[column.upper() for column in columns]]
    lines += [[cut_text(value) for value in row] for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        _print_line(line, widths)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values below each other."""
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        print(f"{name:<{width}}  {cut_text(value)}".rstrip())


class RowStream:
    """Prints rows as they come. A context manager: leaving it ends the JSON array."""

    def __init__(self, form: Format, columns: Mapping[str, int]) -> None:
        """`columns` have fixed widths, since later rows are not known yet."""
        self._form = form
        self._columns = columns
        self._count = 0

    def write(self, row: Row) -> None:
        match self._form:
            case Format.json:
                print("[" if self._count == 0 else ",")
                print(indent(_json(row, 2), "  "), end="")
            case Format.jsonl:
                print(_json(row))
            case Format.table:
                if self._count == 0:
                    self._print([name.upper() for name in self._columns])
                self._print([cut_text(row[name]) for name in self._columns])
        self._count += 1

    def _print(self, cells: list[str]) -> None:
        _print_line(cells, list(self._columns.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._form is Format.json and kind is not BrokenPipeError:
            print("\n]" if self._count else "[]")


def tell(message: str) -> None:
    """Print a message for people on stderr, out of the way of the data."""
    print(message, file=sys.stderr, flush=True)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cell_text(value: Any) -> str:
    """One line without control characters: a stored message must not steer a terminal."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ",".join(map(cell_text, value))
        case dict():
            return ",".join(f"{name}={cell_text(each)}" for name, each in value.items())
        case _:
            text = str(value)
            return text if text.isprintable() else "".join(map(_printable, text))


def cut_text(value: Any) -> str:
    """Text of a cell, cut where it would fill more than a few lines of a terminal."""
    # A megabyte need not be made harmless for what is shown of it.
    length = len(value) if isinstance(value, str) else 0
    text = cell_text(value[: CELL_CHARACTERS_MAX + 1] if length else value)
    if len(text) <= CELL_CHARACTERS_MAX:
        return text
    rest = max(length, len(text)) - CELL_CHARACTERS_MAX
    return f"{text[:CELL_CHARACTERS_MAX]}… ({rest:,} more characters; -o json has all)"


def _printable(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _print_line(cells: Sequence[str], widths: Sequence[int]) -> None:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    print("  ".join(padded).rstrip())


def _json(value: Any, spaces: int | None = None) -> str:
    return json.dumps(value, indent=spaces, ensure_ascii=False)
