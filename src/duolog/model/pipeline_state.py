"""State of a pipeline's last run, written by the pipelines and read by nodes and commands."""

import msgspec

STATES_FOLDER = "state"
"""Folder within the directory of the pipelines."""
STATE_SUFFIX = ".json"
"""Suffix of the state files: one per pipeline and named for it, in a folder with nothing else."""
PIPELINES_MAX = 64
"""Limit of state files; more than this in the folder cannot all be pipelines' states."""


class PipelineState(msgspec.Struct, frozen=True):
    pipeline: str
    runs: int = 0
    """Number of rounds that succeeded."""
    failures: int = 0
    """Number of rounds that failed."""
    rows: int = 0
    """Number of rows in all rounds that succeeded."""
    last_started_ms: int = 0
    last_ended_ms: int = 0
    """End of the last round; before the start while a round is under way."""
    last_succeeded_ms: int = 0
    """End of the last round that succeeded; 0 before the first."""
    last_seconds: float = 0.0
    """Duration of the last round that ended."""
    last_rows: int = 0
    offsets: dict[str, dict[int, int]] = {}
    """Next offset to read, by topic and partition."""
    facts: dict[str, str | int | float | bool | None] = {}
    """Facts that the pipeline itself reports about its last round."""
    error: str | None = None
    """Error of the last round, if it failed."""

    @property
    def is_running(self) -> bool:
        """True during a round, and after one whose process was killed."""
        return self.last_started_ms > self.last_ended_ms
