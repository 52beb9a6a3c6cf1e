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
    ours: str
    theirs: str
    """Of all that are better, each with its name."""


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
            yield from _of_metric(comparison, load, metric)


def _of_metric(comparison: Comparison, load: str, metric: Metric) -> Iterator[Behind]:
    """One line for each of ours that others are held against."""
    better: dict[str, list[str]] = {}
    for other in comparison.contestants:
        ours = None if other.is_ours else counterpart(comparison, other)
        if ours is None:
            continue
        mine = _figure(comparison, load, metric, ours)
        theirs = _figure(comparison, load, metric, other)
        if mine and theirs:
            ratio = theirs / mine if metric.is_better_high else mine / theirs
            if ratio > MARGIN:
                text = f"{other.name} {metric.text(theirs)}"
                better.setdefault(f"{ours.name} {metric.text(mine)}", []).append(text)
    for ours_text, texts in better.items():
        yield Behind(LOADS[load], metric.name, ours_text, "; ".join(texts))


def _figure(
    comparison: Comparison, load: str, metric: Metric, contestant: Contestant
) -> float | None:
    figures = comparison.figures(load, contestant.name)
    return metric.of(figures) if figures else None


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
