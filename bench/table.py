"""Prints results: rich on a terminal, aligned plain text elsewhere; progress on stderr."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_table(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    if sys.stdout.isatty():
        table = Table(*headings, title=title, title_justify="left")
        for line in lines:
            table.add_row(*line)
        Console().print(table)
    else:
        print(title)
        print(plain(headings, lines))
        print()


def plain(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (headings, *lines)
    )


def show_progress(text: str) -> None:
    """One line that overwrites itself on a terminal, a line each elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def end_progress() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
