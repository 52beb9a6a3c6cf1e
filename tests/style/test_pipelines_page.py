"""Every option and table of the pipelines is documented as it is declared."""

import pytest
from tests.style.sources import ROOT

from duolog.app.pipeline_gauges import pipeline_samples
from duolog.model.pipeline_state import PipelineState
from duolog.model.usage import OPERATIONS
from duolog_pipelines.archive import gaps
from duolog_pipelines.archive import table as archive
from duolog_pipelines.archive.pipeline import GAPS
from duolog_pipelines.audit import tables as audit
from duolog_pipelines.billing.focus import SCHEMA
from duolog_pipelines.billing.meters import METERS
from duolog_pipelines.load import job as load
from duolog_pipelines.registry import MODULES, pipeline
from duolog_pipelines.state import States
from duolog_pipelines.usage import tables as usage

SCHEMAS = {
    **usage.SCHEMAS,
    **audit.SCHEMAS,
    archive.ARCHIVE: archive.SCHEMA,
    GAPS: gaps.SCHEMA,
    **load.SCHEMAS,
}
PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading, by what their first cell names."""
    section = PAGE.split(f"### {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {each[0].strip("`"): each[1:] for each in cells}


@pytest.mark.parametrize("name", MODULES)
def test_a_pipeline_has_its_section_and_its_options(name: str) -> None:
    assert f"\n## {name}\n" in PAGE
    assert rows(f"Options of {name}") == {
        option.name: [f"`{option.default}`" if option.default else "(none)", option.doc]
        for option in pipeline(name).options.values()
    }


@pytest.mark.parametrize("table", SCHEMAS)
def test_columns_of_tables_are_documented_as_they_are(table: str) -> None:
    documented = {name: cells[0] for name, cells in rows(f"The table {table}").items()}
    assert documented == {
        field.name: f"`{field.dataType.simpleString()}`" for field in SCHEMAS[table].fields
    }


def test_columns_of_charges_are_documented_as_they_are() -> None:
    documented = {name: cells[0] for name, cells in rows("Columns of charges").items()}
    assert documented == {field.name: f"`{field.type}`" for field in SCHEMA}


def test_every_price_and_operation_is_documented() -> None:
    section = PAGE.split("### Price lists\n")[1].split("\n### ")[0]
    for meter in METERS:
        assert f"| `{meter.price_key}` |" in section
        assert f"| `{meter.free_key}` |" in section
    for operation in OPERATIONS:
        assert f"`{operation}`" in section


def test_every_metric_is_documented(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("states")
    States(directory).keep(PipelineState("usage"))
    for sample in pipeline_samples(directory):
        assert f"| `{sample.name}` | {sample.doc[:-1]}" in PAGE
