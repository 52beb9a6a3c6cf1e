"""A run, or several that were merged: rows, verdicts, comparisons and the machine, as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import cells
from bench.comparison.standing import Comparison
from bench.goals import Verdict, judge
from bench.rows import Row
from bench.table import print_table

_SAME_MACHINE = ("cpu", "cores", "memory", "kernel", "filesystem")


class OtherMachine(Exception):
    """Figures of two machines do not stand on one page."""


@dataclass(frozen=True, slots=True)
class Run:
    date: str
    command: str
    groups: list[str]
    took_seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    machine: dict[str, str]
    runs: list[Run]
    rows: list[Row] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        fields: dict[str, Any] = {
            "machine": self.machine,
            "runs": [asdict(run) for run in self.runs],
            "rows": [row.to_json() for row in self.rows],
            "goals": [asdict(verdict) for verdict in judge(self.rows)],
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
        }
        path.write_text(json.dumps(fields, indent=1) + "\n")

    @staticmethod
    def read(path: Path) -> "Report":
        fields = json.loads(path.read_text())
        return Report(
            machine=fields["machine"],
            runs=[Run(**run) for run in fields["runs"]],
            rows=[Row.from_json(row) for row in fields["rows"]],
            comparisons=[Comparison.from_json(each) for each in fields["comparisons"]],
        )

    def check_machine(self, machine: dict[str, str]) -> None:
        for name in _SAME_MACHINE:
            if self.machine[name] != machine[name]:
                raise OtherMachine(f"{name} was {self.machine[name]}, and is {machine[name]}")

    def merged(self, newer: "Report") -> "Report":
        """What was measured again takes the place of what was there."""
        self.check_machine(newer.machine)
        measured = {group for run in newer.runs for group in run.groups}
        rows = {row.key: row for row in self.rows if not (row.failed and row.key in measured)}
        comparisons = {each.group: each for each in self.comparisons}
        rows |= {row.key: row for row in newer.rows}
        comparisons |= {each.group: each for each in newer.comparisons}
        return Report(
            newer.machine,
            [*self._runs_without(measured), *newer.runs],
            list(rows.values()),
            list(comparisons.values()),
        )

    def _runs_without(self, groups: set[str]) -> list[Run]:
        """Runs of which something is left."""
        return [run for run in self.runs if set(run.groups) - groups]

    @property
    def failed(self) -> bool:
        return any(row.failed for row in self.rows)

    @property
    def judged(self) -> list[Verdict]:
        """Goals that were measured."""
        return [verdict for verdict in judge(self.rows) if verdict.measured is not None]

    def print(self) -> None:
        if self.rows:
            print_table("Workloads", cells.HEADINGS, [cells.workload_cells(r) for r in self.rows])
        if self.judged:
            print_table("Goals", cells.GOAL_HEADINGS, [cells.goal_cells(v) for v in self.judged])
        for comparison in self.comparisons:
            lines: Sequence[list[str]] = [
                cells.standing_cells(standing) for standing in comparison.standings
            ]
            lines = [*lines, *(cells.absent_cells(absent) for absent in comparison.absent)]
            print_table(comparison.group, cells.STANDING_HEADINGS, lines)
