"""Charts as inline SVG, without scripts, fonts or images from elsewhere. Pure.

Colours are the page's variables, so that a chart is readable in light and dark mode.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import floor, log10
from typing import NamedTuple

from duolog_pipelines.report.section import Chart

SERIES_MAX = 6
"""Limit of series, since more colours cannot be told apart; the smallest are summed as the last
one."""
LABELS_SHOWN_MAX = 12
TICKS_ABOUT = 5
OTHERS = "others"

_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 14, 34
_MAGNITUDES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

Series = Mapping[str, Sequence[float]]


class Frame(NamedTuple):
    """Mapping of values to coordinates of the drawing."""

    labels: int
    top: float
    """Value of the highest tick."""

    @property
    def step(self) -> float:
        """Width of one label."""
        return (_WIDTH - _LEFT - _RIGHT) / max(1, self.labels)

    def x(self, index: int) -> float:
        """Middle of a label."""
        return _LEFT + self.step * (index + 0.5)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / self.top


def chart_figure(chart: Chart) -> str:
    """The figure as HTML, with its title above and its legend below."""
    series = folded(chart.series)
    if not chart.labels or not series:
        return ""
    highest = _highest(chart, series)
    ticks = nice_ticks(highest)
    frame = Frame(len(chart.labels), ticks[-1])
    drawn = _bars(frame, series, chart) if chart.kind == "bars" else _lines(frame, series, chart)
    parts = [
        f"<figure><figcaption>{escape(chart.title)}</figcaption>",
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(chart.title)}">',
        *_grid(frame, ticks, chart.unit),
        *_labels(frame, chart.labels),
        *drawn,
        "</svg>",
        _legend(series),
        "</figure>",
    ]
    return "\n".join(part for part in parts if part)


def folded(series: Series) -> Series:
    """The largest series unchanged, and the others summed into one."""
    if len(series) <= SERIES_MAX:
        return series
    by_size = sorted(series.items(), key=lambda item: -sum(item[1]))
    kept = dict(by_size[: SERIES_MAX - 1])
    rest = [values for _, values in by_size[SERIES_MAX - 1 :]]
    return {**kept, OTHERS: [sum(column) for column in zip(*rest, strict=True)]}


def nice_ticks(highest: float) -> list[float]:
    """Ticks at round distances, from 0 to at least the highest value."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / TICKS_ABOUT
    power = float(10.0 ** floor(log10(rough)))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    count = 1
    while step * count < highest * (1 - 1e-9):
        count += 1
    return [step * index for index in range(count + 1)]


def short_number(value: float) -> str:
    for size, letter in _MAGNITUDES:
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _highest(chart: Chart, series: Series) -> float:
    if chart.kind == "bars":
        heights: list[float] = [sum(column) for column in zip(*series.values(), strict=True)]
        return max(heights)
    return max(max(values) for values in series.values())


def _grid(frame: Frame, ticks: Sequence[float], unit: str) -> Iterator[str]:
    for tick in ticks:
        y = frame.y(tick)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        text = f"{short_number(tick)} {unit}".strip() if tick == ticks[-1] else short_number(tick)
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'


def _labels(frame: Frame, labels: Sequence[str]) -> Iterator[str]:
    every = -(-len(labels) // LABELS_SHOWN_MAX)
    for index in range(0, len(labels), every):
        x = frame.x(index)
        text = escape(labels[index])
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{text}</text>'


def _bars(frame: Frame, series: Series, chart: Chart) -> Iterator[str]:
    """Stacked bars."""
    width = frame.step * 0.7
    for index, label in enumerate(chart.labels):
        below = 0.0
        for number, (name, values) in enumerate(series.items()):
            value = values[index]
            if value <= 0:
                continue
            y, end = frame.y(below + value), frame.y(below)
            yield (
                f'<rect class="s{number}" x="{frame.x(index) - width / 2:.1f}" y="{y:.1f}"'
                f' width="{width:.1f}" height="{end - y:.1f}">'
                f"<title>{_told(label, name, value, chart.unit)}</title></rect>"
            )
            below += value


def _lines(frame: Frame, series: Series, chart: Chart) -> Iterator[str]:
    for number, (name, values) in enumerate(series.items()):
        points = [(frame.x(index), frame.y(value)) for index, value in enumerate(values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline class="l{number}" points="{path}"/>'
        for (x, y), label, value in zip(points, chart.labels, values, strict=True):
            yield (
                f'<circle class="s{number}" cx="{x:.1f}" cy="{y:.1f}" r="2.5">'
                f"<title>{_told(label, name, value, chart.unit)}</title></circle>"
            )


def _told(label: str, name: str, value: float, unit: str) -> str:
    return escape(f"{label}, {name}: {value:,.6g} {unit}".strip())


def _legend(series: Series) -> str:
    if len(series) < 2:
        return ""
    items = [
        f'<li><span class="k{number}"></span>{escape(name)}</li>'
        for number, name in enumerate(series)
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'
