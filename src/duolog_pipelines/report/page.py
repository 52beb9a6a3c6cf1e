"""A report as one self-contained HTML page. Pure."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from duolog_pipelines.report.charts import SERIES_MAX, chart_figure
from duolog_pipelines.report.section import Section, Table
from duolog_pipelines.report.values import is_number, shown

_LIGHT = ("#2563a8", "#c2571a", "#2e7d4f", "#8a4fa3", "#a38a00", "#5f6b76")
_DARK = ("#6aa9e9", "#f0975a", "#6cc591", "#c490dd", "#dcc34a", "#a3b0bc")
assert len(_LIGHT) == len(_DARK) == SERIES_MAX

_STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1c2430; --soft: #5a6675;
  --line: #d9dee5; --head: #f3f5f8; LIGHT }
@media (prefers-color-scheme: dark) { :root { --back: #12161c; --text: #e4e9ef; --soft: #9aa6b4;
  --line: #2f3844; --head: #1b222b; DARK } }
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 76rem; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; } p, .note { color: var(--soft); margin: .2rem 0; }
nav a { margin-right: 1rem; color: var(--c0); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .4rem; text-align: left; }
th { background: var(--head); font-weight: 600; } .number { text-align: right; }
figure { margin: 1rem 0; max-width: 60rem; } figcaption { font-weight: 600; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
.grid { stroke: var(--line); } polyline { fill: none; stroke-width: 2; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .2rem 0;
  padding: 0; color: var(--soft); }
.legend span { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
SERIES
"""


def page(title: str, told: str, sections: Mapping[str, Sequence[Section]]) -> str:
    """The page, with sections by pipeline; `told` is a sentence under the title."""
    shown_ones = {name: each for name, each in sections.items() if each}
    links = "".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in shown_ones)
    bodies = [
        _section(section, name if index == 0 else None)
        for name, each in shown_ones.items()
        for index, section in enumerate(each)
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_style()}</style></head><body>",
            f"<h1>{escape(title)}</h1><p>{escape(told)}</p><nav>{links}</nav>",
            *bodies,
            "</body></html>\n",
        ]
    )


def _section(section: Section, anchor: str | None) -> str:
    identity = f' id="{escape(anchor)}"' if anchor else ""
    parts = [f"<section{identity}><h2>{escape(section.heading)}</h2>"]
    if section.text:
        parts.append(f"<p>{escape(section.text)}</p>")
    parts += [chart_figure(chart) for chart in section.charts]
    parts += [_table(table) for table in section.tables]
    return "\n".join([*(part for part in parts if part), "</section>"])


def _table(table: Table) -> str:
    numeric = [
        all(is_number(row[index]) or row[index] is None for row in table.rows)
        for index in range(len(table.columns))
    ]
    head = _cells("th", table.columns, numeric)
    rows = [f"<tr>{_cells('td', row, numeric)}</tr>" for row in table.rows]
    body = "".join(rows) or f'<tr><td colspan="{len(table.columns)}">nothing</td></tr>'
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{escape(table.title)}</h3>{note}<div class="wide"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _cells(tag: str, values: Sequence[Any], numeric: Sequence[bool]) -> str:
    return "".join(
        f'<{tag} class="number">{escape(shown(value))}</{tag}>'
        if right
        else f"<{tag}>{escape(shown(value))}</{tag}>"
        for value, right in zip(values, numeric, strict=True)
    )


def _style() -> str:
    series = [
        f".s{n} {{ fill: var(--c{n}); }} .l{n} {{ stroke: var(--c{n}); }}"
        f" .k{n} {{ background: var(--c{n}); }}"
        for n in range(SERIES_MAX)
    ]
    return (
        _STYLE.replace("LIGHT", _colours(_LIGHT))
        .replace("DARK", _colours(_DARK))
        .replace("SERIES", "\n".join(series))
    )


def _colours(values: Sequence[str]) -> str:
    return " ".join(f"--c{number}: {value};" for number, value in enumerate(values))
