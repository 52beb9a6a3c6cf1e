"""Bar charts as SVG, written by hand: readable on light pages and on dark ones. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, COLUMNS = 920, 2
MARGIN, GAP = 16, 32
TITLE_HEIGHT, BAR_HEIGHT, BAR_STEP, PANEL_GAP = 44, 15, 24, 30
LABEL_WIDTH, VALUE_WIDTH = 212, 72
HEAD_HEIGHT, FOOT_HEIGHT = 62, 26
_STYLE = """\
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.head { font-size: 18px; font-weight: 600 }
.title { font-size: 13px; font-weight: 600 }
.note, .label, .value { font-size: 12px }
.note { fill: #59636e }
.label { text-anchor: end }
.ours { font-weight: 600 }
.bar { fill: #afb8c1 }
.bar.ours { fill: #0969da }
.axis { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note { fill: #9198a1 }
  .bar { fill: #57606a }
  .bar.ours { fill: #4493f8 }
  .axis { stroke: #3d444d }
}
"""


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    text: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    note: str
    bars: Sequence[Bar]

    @property
    def height(self) -> int:
        return TITLE_HEIGHT + BAR_STEP * len(self.bars)


def picture(title: str, subtitle: str, foot: str, panels: Sequence[Panel]) -> str:
    rows = [panels[at : at + COLUMNS] for at in range(0, len(panels), COLUMNS)]
    heights = [max(panel.height for panel in row) for row in rows]
    height = HEAD_HEIGHT + sum(heights) + PANEL_GAP * (len(rows) - 1) + FOOT_HEIGHT + MARGIN
    column_width = (WIDTH - 2 * MARGIN - GAP * (COLUMNS - 1)) / COLUMNS
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{_STYLE}</style>",
        _text(MARGIN, 28, "head", title),
        _text(MARGIN, 48, "note", subtitle),
    ]
    top = HEAD_HEIGHT
    for row, row_height in zip(rows, heights, strict=True):
        for column, panel in enumerate(row):
            left = MARGIN + column * (column_width + GAP)
            lines += _panel(panel, left, top, column_width)
        top += row_height + PANEL_GAP
    lines.append(_text(MARGIN, height - MARGIN, "note", foot))
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Panel, left: float, top: float, width: float) -> list[str]:
    lines = [
        _text(left, top + 14, "title", panel.title),
        _text(left, top + 31, "note", panel.note),
    ]
    origin = left + LABEL_WIDTH
    longest = max((bar.value for bar in panel.bars), default=1.0) or 1.0
    scale = (width - LABEL_WIDTH - VALUE_WIDTH) / longest
    for number, bar in enumerate(panel.bars):
        at = top + TITLE_HEIGHT + number * BAR_STEP
        kind = " ours" if bar.is_ours else ""
        length = max(bar.value * scale, 1.0)
        baseline = at + BAR_HEIGHT - 3
        lines += [
            _text(origin - 8, baseline, f"label{kind}", bar.label),
            f'<rect class="bar{kind}" x="{origin:.1f}" y="{at:.1f}" width="{length:.1f}" '
            f'height="{BAR_HEIGHT}" rx="2"/>',
            _text(origin + length + 6, baseline, f"value{kind}", bar.text),
        ]
    bottom = top + panel.height - (BAR_STEP - BAR_HEIGHT) + 3
    first = top + TITLE_HEIGHT - 3
    lines.append(
        f'<line class="axis" x1="{origin:.1f}" y1="{first:.1f}" x2="{origin:.1f}" '
        f'y2="{bottom:.1f}"/>'
    )
    return lines


def _text(x: float, y: float, kind: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
