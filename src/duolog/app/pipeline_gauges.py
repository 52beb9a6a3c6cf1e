"""Metrics of the pipelines' last runs, read from the files that they write."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from duolog.model.pipeline_state import PIPELINES_MAX, STATE_SUFFIX, PipelineState
from duolog.observe.metrics import Metrics, Sample


def register_pipeline_gauges(metrics: Metrics, states: Path) -> None:
    """Register the metrics; a pipeline has none before its first run."""
    metrics.labelled.append(partial(pipeline_samples, states))


def pipeline_samples(states: Path) -> Iterator[Sample]:
    for state in _found(states):
        labels = {"pipeline": state.pipeline}
        for series, doc, value, counter in (
            ("runs_total", "Rounds that succeeded.", state.runs, True),
            ("failures_total", "Rounds that failed.", state.failures, True),
            ("rows_total", "Rows processed.", state.rows, True),
            ("last_run_seconds", "Duration of the last round.", state.last_seconds, False),
            (
                "last_success_timestamp_seconds",
                "Time at which a round last succeeded; 0 before the first.",
                state.last_succeeded_ms / 1000,
                False,
            ),
            (
                "failed",
                "1 if the last round failed, else 0.",
                float(state.error is not None),
                False,
            ),
        ):
            yield Sample(f"duolog_pipeline_{series}", doc, labels, value, counter)


def _found(directory: Path) -> list[PipelineState]:
    """States in the directory; unreadable files are left out, lest metrics fail because of them."""
    try:
        files = sorted(directory.glob(f"[!.]*{STATE_SUFFIX}"))[:PIPELINES_MAX]
    except OSError:
        return []
    states = []
    for file in files:
        try:
            states.append(msgspec.json.decode(file.read_bytes(), type=PipelineState))
        except (OSError, msgspec.MsgspecError):
            continue
    return states
