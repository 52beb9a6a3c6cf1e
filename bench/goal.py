"""A goal, and the ways to take its figure from the rows of a run. Pure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from bench.rows import Row

NOT_BELOW, NOT_ABOVE = (0.9, math.inf), (0.0, 1.1)
"""Plausible ratios to what is known to be the least or the most, with room for noise."""
Measure = Callable[[Mapping[str, Row]], float | None]
"""What a goal is about, by the rows' keys; None when the run did not measure it."""


@dataclass(frozen=True, slots=True)
class Goal:
    text: str
    limit: float
    unit: str
    measure: Measure
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


def ours(key: str, figure: str, *, stored_gb_min: float = 0.0, population_min: int = 0) -> Measure:
    """With less there than these, the run says nothing about the goal."""

    def measure(rows: Mapping[str, Row]) -> float | None:
        row = rows.get(key)
        if row is None or (row.of_ours("stored_gb") or 0.0) < stored_gb_min:
            return None
        return row.of_ours(figure) if (row.of_ours("population") or 0) >= population_min else None

    return measure


def against_floor(key: str, figure: str) -> Measure:
    def measure(rows: Mapping[str, Row]) -> float | None:
        return rows[key].ratio_of(figure) if key in rows else None

    return measure


def flat(name: str, *, population_min: int) -> Measure:
    """CPU of the operation that suffers most from much being there, over that with little."""

    def measure(rows: Mapping[str, Row]) -> float | None:
        ratios = [
            row.ratio_of("cpu_us_per_request")
            for key, row in rows.items()
            if key.startswith(f"queues/flat/{name}/")
            and (row.of_ours("population") or 0) >= population_min
        ]
        return max((ratio for ratio in ratios if ratio is not None), default=None)

    return measure


def between(key: str, other: str, figure: str) -> Measure:
    """Our figure in one workload over our figure in another."""

    def measure(rows: Mapping[str, Row]) -> float | None:
        value, base = ours(key, figure)(rows), ours(other, figure)(rows)
        return value / base if value is not None and base else None

    return measure
