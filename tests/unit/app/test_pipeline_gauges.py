"""Metrics of pipelines, from the files that they write."""

from pathlib import Path

import msgspec

from duolog.app.pipeline_gauges import pipeline_samples, register_pipeline_gauges
from duolog.model.pipeline_state import PipelineState
from duolog.observe.exposition import Exposition
from duolog.observe.metrics import Metrics


def keep(directory: Path, state: PipelineState) -> None:
    (directory / f"{state.pipeline}.json").write_bytes(msgspec.json.encode(state))


def test_each_pipeline_has_the_numbers_of_its_runs(tmp_path: Path) -> None:
    keep(tmp_path, PipelineState("usage", runs=3, rows=70, last_succeeded_ms=5_500))
    keep(tmp_path, PipelineState("billing", failures=1, error="It broke."))
    metrics = Metrics()
    register_pipeline_gauges(metrics, tmp_path)
    text = Exposition(metrics).render().decode()
    assert 'duolog_pipeline_rows_total{pipeline="usage"} 70.0' in text
    assert 'duolog_pipeline_last_success_timestamp_seconds{pipeline="usage"} 5.5' in text
    assert 'duolog_pipeline_failed{pipeline="usage"} 0.0' in text
    assert 'duolog_pipeline_failed{pipeline="billing"} 1.0' in text
    assert text.count("# HELP duolog_pipeline_failed ") == 1


def test_there_is_nothing_to_tell_where_no_pipeline_has_run(tmp_path: Path) -> None:
    assert list(pipeline_samples(tmp_path / "absent")) == []


def test_a_file_that_is_no_state_harms_nothing(tmp_path: Path) -> None:
    keep(tmp_path, PipelineState("usage"))
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / ".usage.json.7.tmp").write_text("{")
    assert {sample.labels["pipeline"] for sample in pipeline_samples(tmp_path)} == {"usage"}
