"""Reports in the terminal and as JSON."""

from collections.abc import Mapping, Sequence

from duolog.cli.output import Format, Row, print_rows, print_table
from duolog_pipelines.report.section import Chart, Section, Table
from duolog_pipelines.report.values import plain, shown


def show(sections: Mapping[str, Sequence[Section]], output: Format) -> None:
    """Print tables for people, or everything as JSON, with the numbers of the charts."""
    if output is not Format.table:
        print_rows(report_rows(sections), output, ())
        return
    blocks = [section for each in sections.values() for section in each]
    for number, section in enumerate(blocks):
        if number:
            print()
        print(section.heading)
        if section.text:
            print(section.text)
        for table in section.tables:
            print(f"\n{table.title}{f' ({table.note})' if table.note else ''}")
            print_table([[shown(value) for value in row] for row in table.rows], table.columns)


def report_rows(sections: Mapping[str, Sequence[Section]]) -> list[Row]:
    """One row for each section."""
    return [
        {
            "pipeline": name,
            "heading": section.heading,
            "text": section.text,
            "tables": [_table(table) for table in section.tables],
            "charts": [_chart(chart) for chart in section.charts],
        }
        for name, each in sections.items()
        for section in each
    ]


def _table(table: Table) -> Row:
    rows = [dict(zip(table.columns, map(plain, row), strict=True)) for row in table.rows]
    return {"title": table.title, "note": table.note, "rows": rows}


def _chart(chart: Chart) -> Row:
    series = {name: list(values) for name, values in chart.series.items()}
    return {
        "title": chart.title,
        "unit": chart.unit,
        "labels": list(chart.labels),
        "series": series,
    }
