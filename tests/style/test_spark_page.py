"""Every option and column of the connector is documented as it is declared."""

import pytest
from tests.style.sources import ROOT

from pyspark_duolog.columns import COLUMNS
from pyspark_duolog.options import OPTIONS, Option
from pyspark_duolog.sink_options import SINK_OPTIONS

PAGE = ROOT / "docs" / "spark.md"


TABLES = {"Options of the source": OPTIONS, "Options of the sink": SINK_OPTIONS}


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


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_is_documented(column: str) -> None:
    assert rows("Columns")[column][0] == f"`{COLUMNS[column].simpleString()}`"
