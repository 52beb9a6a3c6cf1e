"""Every option and column of the connector is documented as it is declared."""

import pytest
from tests.style.sources import ROOT

from pyspark_duolog.columns import COLUMNS
from pyspark_duolog.options import OPTIONS, Option

PAGE = ROOT / "docs" / "spark.md"


def rows() -> dict[str, list[str]]:
    """First cell to all cells, of every table of the page."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    tables = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {cells[0]: cells for cells in tables}


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
def test_an_option_is_documented_as_it_is_declared(option: Option) -> None:
    default = f"`{option.default}`" if option.default else "(none)"
    assert rows()[f"`{option.name}`"] == [f"`{option.name}`", default, option.doc]


def test_no_option_is_documented_that_does_not_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("## Options")[1].split("\n## ")[0]
    named = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert named == list(OPTIONS)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_is_documented(column: str) -> None:
    assert rows()[f"`{column}`"][1] == f"`{COLUMNS[column].simpleString()}`"
