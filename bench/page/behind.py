"""Finds what others do better than Duolog. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bench.cells import number
from bench.comparison.standing import Comparison, Contestant
from bench.page.loads import LOADS, PACED, cpu_us, milliseconds, rate
from bench.samples import Figures

MARGIN = 1.05
"""Less than this is no difference."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    of: Callable[[Figures], float | None]
    text: Callable[[float | None], str]
    is_better_high: bool = False
    is_paced: bool | None = None
    """Only of loads that are paced, or only of others; None: of all."""


class Behind(NamedTuple):
    load: str
    metric: str
    other: str
    theirs: str
    ours: str


METRICS = (
    Metric("messages a second", rate, number, is_better_high=True, is_paced=False),
    Metric("CPU us a message", cpu_us, number),
    Metric("p50, ms", lambda each: each.p50_us, milliseconds, is_paced=True),
    Metric("p99, ms", lambda each: each.p99_us, milliseconds, is_paced=True),
    Metric("resident memory, MB", lambda each: each.rss_mb, number),
)


def behind(comparison: Comparison) -> Iterator[Behind]:
    for load in comparison.loads:
        for metric in METRICS:
            if metric.is_paced is not None and metric.is_paced != (load in PACED):
                continue
            for other in comparison.contestants:
                if not other.is_ours:
                    yield from _one(comparison, load, metric, other)


def _one(comparison: Comparison, load: str, metric: Metric, other: Contestant) -> Iterator[Behind]:
    ours = counterpart(comparison, other)
    if ours is None:
        return
    our_figures = comparison.figures(load, ours.name)
    their_figures = comparison.figures(load, other.name)
    if our_figures is None or their_figures is None:
        return
    our_figure, their_figure = metric.of(our_figures), metric.of(their_figures)
    if not our_figure or not their_figure:
        return
    better = their_figure / our_figure if metric.is_better_high else our_figure / their_figure
    if better > MARGIN:
        yield Behind(
            LOADS[load],
            metric.name,
            other.name,
            metric.text(their_figure),
            f"{metric.text(our_figure)} ({ours.name})",
        )


def counterpart(comparison: Comparison, other: Contestant) -> Contestant | None:
    """Ours with the same durability, or else the first."""
    ours = [each for each in comparison.contestants if each.is_ours]
    alike = [each for each in ours if each.durability == other.durability]
    return next(iter(alike + ours), None)


def signing(comparison: Comparison, steps: tuple[str, ...]) -> tuple[float, float] | None:
    """How many times the CPU of an open node one with credentials takes, at least and at most."""
    ratios = []
    for step in steps:
        signed = cpu_us(comparison.figures(step, "Duolog, os, credentials"))
        open_to_all = cpu_us(comparison.figures(step, "Duolog, os"))
        if signed and open_to_all:
            ratios.append(signed / open_to_all)
    return (min(ratios), max(ratios)) if ratios else None
