"""What is kept of a pipeline's runs."""

from pathlib import Path

import pytest

from duolog.model.pipeline_state import PipelineState
from duolog_pipelines.errors import PipelineError
from duolog_pipelines.pipeline import Outcome
from duolog_pipelines.state import States, begun, failed, succeeded


@pytest.fixture
def states(tmp_path: Path) -> States:
    return States(tmp_path / "state")


def test_a_pipeline_that_never_ran_has_an_empty_state(states: States) -> None:
    assert states.of("usage") == PipelineState("usage")


def test_what_is_kept_is_found_again(states: States) -> None:
    outcome = Outcome(7, {"__usage": {0: 12}}, {"hours": 2})
    state = succeeded(begun(PipelineState("usage"), 1_000), outcome, 3_500)
    states.keep(state)
    found = states.of("usage")
    assert found == state
    assert (found.rows, found.last_seconds, found.offsets) == (7, 2.5, {"__usage": {0: 12}})


def test_a_failure_keeps_how_far_earlier_rounds_came() -> None:
    state = succeeded(begun(PipelineState("usage"), 1), Outcome(7, {"t": {0: 12}}), 2)
    state = failed(begun(state, 3), "It broke.", 4)
    assert (state.runs, state.failures, state.rows) == (1, 1, 7)
    assert state.offsets == {"t": {0: 12}}
    assert state.error == "It broke."
    assert state.last_succeeded_ms == 2


def test_a_round_that_ends_well_clears_the_error() -> None:
    state = failed(begun(PipelineState("usage"), 1), "It broke.", 2)
    assert succeeded(begun(state, 3), Outcome(), 4).error is None


def test_a_round_is_under_way_until_it_ends() -> None:
    state = begun(PipelineState("usage"), 5)
    assert state.is_running
    assert not succeeded(state, Outcome(), 6).is_running


def test_a_file_that_holds_no_state_is_named(states: States, tmp_path: Path) -> None:
    states.keep(PipelineState("usage"))
    (tmp_path / "state" / "usage.json").write_text("{")
    with pytest.raises(PipelineError, match=r"usage\.json holds no state"):
        states.of("usage")
