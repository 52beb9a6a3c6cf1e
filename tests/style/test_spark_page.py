"""Every option and column of the connector is documented as it is declared."""

import pytest
from pyspark.sql.types import DataType
from tests.style.sources import ROOT

from pyspark_duolog.columns import COLUMNS, QUEUE_COLUMNS
from pyspark_duolog.option import Option
from pyspark_duolog.queues.options import QUEUE_OPTIONS
from pyspark_duolog.sink.options import SINK_OPTIONS
from pyspark_duolog.source.options import OPTIONS

PAGE = ROOT / "docs" / "spark.md"


TABLES = {
    "Options of the source": OPTIONS,
    "Options of queues": QUEUE_OPTIONS,
    "Options of the sink": SINK_OPTIONS,
}


def rows(heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading, by what their first cell names."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {each[0].strip("`"): each[1:] for each in cells}


@pytest.mark.parametrize(("heading", "options"), TABLES.items(), ids=TABLES)
def test_options_are_documented_as_they_are_declared(
    heading: str, options: dict[str, Option]
) -> None:
    assert rows(heading) == {
        name: [f"`{option.default}`" if option.default else "(none)", option.doc]
        for name, option in options.items()
    }


@pytest.mark.parametrize(
    ("heading", "columns"), [("Columns", COLUMNS), ("Columns of queues", QUEUE_COLUMNS)]
)
def test_columns_are_documented_as_they_are(heading: str, columns: dict[str, DataType]) -> None:
    documented = {name: cells[0] for name, cells in rows(heading).items()}
    assert documented == {name: f"`{kind.simpleString()}`" for name, kind in columns.items()}
