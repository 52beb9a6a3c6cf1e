"""State of each pipeline's last run, in a file each that is replaced as a whole."""

import os
from pathlib import Path

import msgspec

from duolog.model.pipeline_state import STATE_SUFFIX, PipelineState
from duolog_pipelines.errors import PipelineError
from duolog_pipelines.pipeline import Outcome


class States:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def of(self, name: str) -> PipelineState:
        """The pipeline's state; empty if it never ran."""
        file = self._file(name)
        try:
            return msgspec.json.decode(file.read_bytes(), type=PipelineState)
        except FileNotFoundError:
            return PipelineState(name)
        except msgspec.MsgspecError:
            raise PipelineError(
                f"{file} holds no state of a pipeline. Remove it; only this display depends on it."
            ) from None

    def keep(self, state: PipelineState) -> None:
        replace_file(self._file(state.pipeline), msgspec.json.encode(state))

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}{STATE_SUFFIX}"


def begun(state: PipelineState, now_ms: int) -> PipelineState:
    return msgspec.structs.replace(state, last_started_ms=now_ms)


def succeeded(state: PipelineState, outcome: Outcome, now_ms: int) -> PipelineState:
    return msgspec.structs.replace(
        _ended(state, outcome, now_ms),
        runs=state.runs + 1,
        rows=state.rows + outcome.rows,
        last_succeeded_ms=now_ms,
        error=None,
    )


def failed(
    state: PipelineState, error: str, now_ms: int, outcome: Outcome | None = None
) -> PipelineState:
    """State after a failure; with an outcome if everything was written nevertheless."""
    ended = _ended(state, outcome or Outcome(), now_ms)
    return msgspec.structs.replace(ended, failures=state.failures + 1, error=error)


def _ended(state: PipelineState, outcome: Outcome, now_ms: int) -> PipelineState:
    offsets = {topic: dict(reached) for topic, reached in outcome.offsets.items()}
    return msgspec.structs.replace(
        state,
        last_ended_ms=now_ms,
        last_seconds=(now_ms - state.last_started_ms) / 1000,
        last_rows=outcome.rows,
        offsets=offsets or state.offsets,
        facts=dict(outcome.facts),
    )


def replace_file(file: Path, content: bytes) -> None:
    """Replace the file atomically and durably: readers see the old or the new content, also after a
    crash."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
