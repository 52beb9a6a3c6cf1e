"""What is written down of a round, however it ends."""

from pathlib import Path
from typing import Any, cast

import pytest

from duolog_pipelines.errors import PipelineError
from duolog_pipelines.lake import Lake
from duolog_pipelines.option import declared
from duolog_pipelines.pipeline import Outcome, Pipeline
from duolog_pipelines.running import Place, Runner
from duolog_pipelines.state import States


class Told:
    """A pipeline that does as it is told."""

    name = "told"
    options = declared()

    def __init__(self, ending: Outcome | BaseException) -> None:
        self._ending = ending

    def run(self, stage: object) -> Outcome:
        if isinstance(self._ending, BaseException):
            raise self._ending
        return self._ending


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.within(tmp_path)


def run(lake: Lake, ending: Outcome | BaseException, now_ms: int) -> None:
    runner = Runner(cast(Any, None), Place("", "", lake), lambda: now_ms)
    runner.run(cast(Pipeline, Told(ending)), {})


def test_a_round_that_was_interrupted_leaves_no_trace(lake: Lake) -> None:
    run(lake, Outcome(3), 1_000)
    ended = States(lake.states).of("told")
    assert (ended.runs, ended.rows, ended.last_started_ms) == (1, 3, 1_000)
    with pytest.raises(KeyboardInterrupt):
        run(lake, KeyboardInterrupt(), 2_000)
    assert States(lake.states).of("told") == ended
    assert not ended.is_running


def test_a_round_that_failed_says_why_until_one_succeeds(lake: Lake) -> None:
    with pytest.raises(PipelineError):
        run(lake, PipelineError("The disk is full."), 1_000)
    assert States(lake.states).of("told").error == "The disk is full."
    run(lake, Outcome(), 2_000)
    assert States(lake.states).of("told").error is None
