"""Progress of a running pipeline on stderr: a changing line, on a terminal only."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from duolog_pipelines.pipeline import Progress


class Silent:
    """Shows nothing, where stderr is no terminal, so that logs stay readable."""

    def step(self, text: str) -> None:
        pass

    def add_rows(self, count: int) -> None:
        pass


class Shown:
    def __init__(self, bar: Any, task: Any, name: str) -> None:
        self._bar = bar
        self._task = task
        self._name = name

    def step(self, text: str) -> None:
        self._bar.update(self._task, description=f"{self._name}: {text}")

    def add_rows(self, count: int) -> None:
        self._bar.advance(self._task, count)


@contextmanager
def progress_of(name: str) -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield Silent()
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Shown(bar, bar.add_task(f"{name}: starting", total=None), name)
