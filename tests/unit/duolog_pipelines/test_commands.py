"""`duolog pipeline`, where there is no Spark to run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from duolog.cli.main import app
from duolog.model.pipeline_state import PipelineState
from duolog_pipelines.errors import Missing
from duolog_pipelines.lake import Lake
from duolog_pipelines.registry import MODULES, pipeline
from duolog_pipelines.state import States


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["pipeline", *arguments])


def test_pipelines_are_listed_with_their_options() -> None:
    rows = json.loads(invoke("ls", "-o", "json").stdout)
    assert [row["name"] for row in rows] == list(MODULES)
    usage = rows[0]
    assert {"name", "default", "doc"} == usage["options"][0].keys()


@pytest.mark.parametrize("arguments", [["ls"], ["status"], ["run", "--help"]])
def test_spark_is_not_loaded_before_a_pipeline_runs(arguments: list[str], tmp_path: Path) -> None:
    program = (
        "import sys\nfrom duolog.cli.main import app\n"
        f"app(['pipeline', *{arguments}], standalone_mode=False)\n"
        "heavy = {'pyspark', 'pyarrow', 'numpy', 'deltalake'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_a_missing_java_is_told_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = invoke("run", "usage", "--once", "--data", str(tmp_path))
    assert result.exit_code == 1
    assert "Spark needs Java, and there is none. Install Java 17 or newer" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "dance", "--once"], 3, "There is no pipeline 'dance'"),
        (["run", "usage", "--once", "-O", "topik=x"], 2, "There is no option 'topik' here"),
        (["run", "usage", "--once", "-O", "gaps=hide"], 2, "'hide' is none of fail, report"),
        (["run", "usage", "--once", "-O", "gaps"], 2, "not of the form name=value"),
        (["backfill", "usage", "--from", "10"], 2, "is an offset"),
        (["report", "dance"], 3, "There is no pipeline 'dance'"),
    ],
)
def test_a_wrong_command_is_told_before_anything_starts(
    arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    result = invoke(*arguments, "--data", str(tmp_path))
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


def test_the_status_tells_the_last_error_and_ends_accordingly(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path)]
    assert invoke("status", *data).exit_code == 0
    states = States(Lake.within(tmp_path).states)
    states.keep(PipelineState("usage", failures=1, last_ended_ms=1, error="It broke."))
    result = invoke("status", *data)
    assert result.exit_code == 10
    assert "usage: It broke." in result.stderr
    rows = json.loads(invoke("status", *data, "-o", "json").stdout)
    assert [(row["pipeline"], row["status"], row["error"]) for row in rows[:2]] == [
        ("usage", "failed", "It broke."),
        ("billing", "never ran", None),
    ]


def test_there_is_nothing_to_report_before_a_run(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = invoke("report", "--data", str(tmp_path), "-o", "json", "--html", str(page))
    assert json.loads(result.stdout) == []
    assert "There is nothing to report" in result.stderr
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo", "pipeline", "--data", "here"),
        ("pipeline", "run", "usage", "--once", "--data", "here"),
        ("pipeline", "backfill", "usage", "--data", "here"),
        ("pipeline", "report", "--data", "here"),
    ],
)
def test_without_the_extra_a_command_says_what_to_install_from_a_clone(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    program = (
        "import sys\n"
        "for name in ('deltalake', 'numpy', 'pyarrow', 'pyspark'): sys.modules[name] = None\n"
        f"from duolog.cli.main import app\napp({list(arguments)!r}, prog_name='duolog')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Pipelines need the package ")
    assert done.stderr.endswith(
        "In your clone of Duolog, run `.venv/bin/pip install -e '.[spark]' -c constraints.txt`.\n"
    )


def test_a_mistyped_pipeline_gets_a_suggestion() -> None:
    with pytest.raises(Missing, match="Did you mean 'usage'"):
        pipeline("usge")
