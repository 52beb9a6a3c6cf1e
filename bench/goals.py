"""What the broker is expected to reach, judged from the rows of a run. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.rows import Row


@dataclass(frozen=True, slots=True)
class Goal:
    text: str
    limit: float
    unit: str
    measure: Callable[[Mapping[str, Row]], float | None]
    at_least: bool = False
    """Most goals are ceilings."""
    clocked: tuple[str, ...] = ()
    """The workloads whose wall-clock time it depends on, and which other processes disturb."""
    noise: Literal["harms", "blurs"] = "harms"
    """What disturbance does: it only makes latencies worse, so that a pass in spite of it is
    one; but a share of a core or a ratio of two speeds may come out either way."""
    plausible: tuple[float, float] = (0.0, math.inf)
    """Outside it the run was disturbed: a broker does not do more work than the floor with
    less CPU, nor is an acknowledged fdatasync faster than the fdatasync."""


@dataclass(frozen=True, slots=True)
class Verdict:
    text: str
    measured: float | None
    limit: float
    unit: str
    at_least: bool
    passed: bool | None
    """None when the run did not measure it, or measured nonsense."""

    @property
    def void(self) -> bool:
        return self.measured is not None and self.passed is None


def ours(
    key: str, figure: str, *, stored_gb_min: float = 0.0
) -> Callable[[Mapping[str, Row]], float | None]:
    """With less stored than `stored_gb_min`, the run says nothing about the goal."""

    def measure(rows: Mapping[str, Row]) -> float | None:
        row = rows.get(key)
        if row is None or (row.of_ours("stored_gb") or 0.0) < stored_gb_min:
            return None
        return row.of_ours(figure)

    return measure


def against_floor(key: str, figure: str) -> Callable[[Mapping[str, Row]], float | None]:
    def measure(rows: Mapping[str, Row]) -> float | None:
        return rows[key].ratio_of(figure) if key in rows else None

    return measure


def between(key: str, other: str, figure: str) -> Callable[[Mapping[str, Row]], float | None]:
    """Our figure in one workload over our figure in another."""

    def measure(rows: Mapping[str, Row]) -> float | None:
        value, base = ours(key, figure)(rows), ours(other, figure)(rows)
        return value / base if value is not None and base else None

    return measure


OTHERS_CORES_MAX = 0.25
"""Above this, other processes decide what a clock shows."""
NOT_BELOW, NOT_ABOVE = (0.9, math.inf), (0.0, 1.1)
"""Plausible ratios to what is known to be the least or the most, with room for noise."""

GOALS: Sequence[Goal] = (
    Goal(
        "broker CPU per MB produced in 1 MB batches, over the floor's",
        1.5,
        "x",
        against_floor("produce/1MB/1p", "cpu_ms_per_mb"),
        plausible=NOT_BELOW,
    ),
    Goal(
        "broker CPU per MB fetched, over the floor's",
        1.5,
        "x",
        against_floor("consume/1MB/1p", "cpu_ms_per_mb"),
        plausible=NOT_BELOW,
    ),
    Goal(
        "broker CPU of a one-record Produce, os mode, 4 connections, unpipelined",
        25,
        "us",
        ours("requests/4x1", "cpu_us_per_request"),
    ),
    Goal(
        "broker CPU of a one-record Produce, os mode, 4 connections x 60 deep",
        10,
        "us",
        ours("requests/4x60", "cpu_us_per_request"),
    ),
    Goal(
        "p99 of a one-record Produce, 4 connections",
        1000,
        "us",
        ours("requests/4x1", "p99_us"),
        clocked=("requests/4x1",),
    ),
    Goal(
        "share of a core at librdkafka's top speed, 1 KB default batching, os mode",
        0.70,
        "cores",
        ours("produce/1KB/default/1p", "cpu_share"),
        clocked=("produce/1KB/default/1p",),
        noise="blurs",
    ),
    Goal(
        "fsync throughput over os throughput, 1 KB default batching",
        0.70,
        "x",
        between("fsync/1KB/fsync", "fsync/1KB/os", "mb_per_s"),
        at_least=True,
        clocked=("fsync/1KB/fsync", "fsync/1KB/os"),
        noise="blurs",
        plausible=NOT_ABOVE,
    ),
    Goal(
        "p99 of a lone fsync request, in p99 fdatasyncs of the same disk",
        2.0,
        "x",
        between("fsync/lone/fsync", "fsync/fdatasync", "p99_us"),
        clocked=("fsync/lone/fsync",),
        plausible=NOT_BELOW,
    ),
    Goal(
        "time to ready with 1,000 partitions and 10 GB after SIGKILL",
        5.0,
        "s",
        ours("backlog/start", "seconds", stored_gb_min=10.0),
        clocked=("backlog/start",),
    ),
    Goal("resident memory, idle", 150, "MB", ours("backlog/idle", "rss_mb")),
    Goal(
        "resident memory, 1,000 partitions, 200 connections reading the backlog",
        400,
        "MB",
        ours("backlog/reading", "rss_mb", stored_gb_min=10.0),
    ),
)


def is_disturbed(row: Row) -> bool:
    return (row.of_ours("others_cores") or 0.0) > OTHERS_CORES_MAX


def judge(rows: Sequence[Row], goals: Sequence[Goal] = GOALS) -> list[Verdict]:
    by_key = {row.key: row for row in rows}
    return [_judge_one(goal, by_key) for goal in goals]


def _judge_one(goal: Goal, rows: Mapping[str, Row]) -> Verdict:
    measured, passed = goal.measure(rows), None
    least, most = goal.plausible
    noisy = any(is_disturbed(rows[key]) for key in goal.clocked if key in rows)
    if measured is not None and least <= measured <= most:
        reached = measured >= goal.limit if goal.at_least else measured <= goal.limit
        believed = not noisy or (reached and goal.noise == "harms")
        passed = reached if believed else None
    return Verdict(goal.text, measured, goal.limit, goal.unit, goal.at_least, passed)
