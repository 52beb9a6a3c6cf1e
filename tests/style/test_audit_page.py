"""Every option and table of these pipelines is documented as it is declared."""

import pytest
from pyspark.sql.types import StructType
from tests.style.sources import ROOT

from duolog_pipelines.archive import gaps
from duolog_pipelines.archive import table as archive
from duolog_pipelines.archive.pipeline import GAPS
from duolog_pipelines.audit import tables as audit
from duolog_pipelines.load import job as load
from duolog_pipelines.registry import pipeline

PAGE = ROOT / "docs" / "audit.md"
OPTIONS = {
    "Options of the audit": "audit",
    "Options of the archive": "archive",
    "Options of a replay": "replay",
    "Options of the load": "load",
}
SCHEMAS = {
    **audit.SCHEMAS,
    archive.ARCHIVE: archive.SCHEMA,
    GAPS: gaps.SCHEMA,
    **load.SCHEMAS,
}


def rows(heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading, by what their first cell names."""
    section = PAGE.read_text(encoding="utf-8").split(f"### {heading}\n")[1].split("\n##")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {each[0].strip("`"): each[1:] for each in cells}


@pytest.mark.parametrize(("heading", "name"), OPTIONS.items(), ids=OPTIONS.values())
def test_options_are_documented_as_they_are_declared(heading: str, name: str) -> None:
    assert rows(heading) == {
        option.name: [f"`{option.default}`" if option.default else "(none)", option.doc]
        for option in pipeline(name).options.values()
    }


@pytest.mark.parametrize(("name", "schema"), SCHEMAS.items(), ids=SCHEMAS)
def test_tables_are_documented_as_they_are(name: str, schema: StructType) -> None:
    documented = [(column, cells[0]) for column, cells in rows(f"Table {name}").items()]
    assert documented == [
        (field.name, f"`{field.dataType.simpleString()}`") for field in schema.fields
    ]
