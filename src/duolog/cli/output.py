"""Rows on stdout, as a table for people or as JSON for programs."""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

Row = dict[str, Any]


class Format(StrEnum):
    table = "table"
    json = "json"
    jsonl = "jsonl"


FormatOption = Annotated[Format, typer.Option("-o", "--output", help="How to print the result.")]


def print_rows(rows: Sequence[Row], form: Format, columns: Sequence[str]) -> None:
    """JSON has every field of a row; a table has the columns."""
    match form:
        case Format.json:
            print(json.dumps(list(rows), indent=2, ensure_ascii=False))
        case Format.jsonl:
            for row in rows:
                print(json.dumps(row, ensure_ascii=False))
        case Format.table:
            _print_table([[str(row[column]) for column in columns] for row in rows], columns)


def _print_table(cells: list[list[str]], columns: Sequence[str]) -> None:
    lines = [[column.upper() for column in columns], *cells]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())
