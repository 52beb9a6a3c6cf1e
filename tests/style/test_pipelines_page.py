"""Every option and table of the pipelines is documented as it is declared."""

import re
from importlib import import_module

import pytest
from pyspark.sql.types import StructType
from tests.style.sources import PIPELINES_PACKAGE, ROOT

from duolog.app.pipeline_gauges import pipeline_samples
from duolog.model.pipeline_state import PipelineState
from duolog.model.usage import OPERATIONS
from duolog_pipelines.archive import gaps
from duolog_pipelines.archive import table as archive
from duolog_pipelines.archive.pipeline import GAPS
from duolog_pipelines.billing.focus import SCHEMA
from duolog_pipelines.billing.meters import METERS
from duolog_pipelines.registry import MODULES, pipeline
from duolog_pipelines.state import States

MODULE = re.compile(r"^(SCHEMAS|PIPELINE)\b.* = ", re.MULTILINE)


def modules_that_define(name: str) -> list[str]:
    """Found in their texts: importing all of them would take long."""
    return [
        ".".join(path.relative_to(PIPELINES_PACKAGE.parent).with_suffix("").parts)
        for path in sorted(PIPELINES_PACKAGE.rglob("*.py"))
        if name in MODULE.findall(path.read_text(encoding="utf-8"))
    ]


SCHEMAS: dict[str, StructType] = {archive.ARCHIVE: archive.SCHEMA, GAPS: gaps.SCHEMA}
for module in modules_that_define("SCHEMAS"):
    SCHEMAS |= import_module(module).SCHEMAS

PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading, by what their first cell names."""
    assert f"### {heading}\n" in PAGE, f"add the section `### {heading}` to docs/pipelines.md"
    section = PAGE.split(f"### {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {each[0].strip("`"): each[1:] for each in cells}


def test_every_pipeline_is_registered() -> None:
    assert [
        f'add `"<name>": "{module}",` to MODULES in src/duolog_pipelines/registry.py'
        for module in modules_that_define("PIPELINE")
        if module not in MODULES.values()
    ] == []


@pytest.mark.parametrize(("name", "module"), MODULES.items())
def test_a_registered_pipeline_is_there_under_its_name(name: str, module: str) -> None:
    path = f"src/{module.replace('.', '/')}.py"
    assert module in modules_that_define("PIPELINE"), (
        f"end {path} with `PIPELINE: Pipeline = <its class>()`: the registry has it as `{name}`"
    )
    assert pipeline(name).name == name


@pytest.mark.parametrize("name", MODULES)
def test_a_pipeline_has_its_section_and_its_options(name: str) -> None:
    assert f"\n## {name}\n" in PAGE, f"add the section `## {name}` to docs/pipelines.md"
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
