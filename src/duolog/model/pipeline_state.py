"""How the last run of a pipeline went: written by the pipelines, read by whoever shows it."""

import msgspec

STATES_FOLDER = "state"
"""Within the directory of the pipelines."""
STATE_SUFFIX = ".json"
"""A file each, named for the pipeline, in a directory that holds nothing else."""
PIPELINES_MAX = 64
"""More files than this in that directory are no pipelines' states."""


class PipelineState(msgspec.Struct, frozen=True):
    pipeline: str
    runs: int = 0
    """Rounds that ended well."""
    failures: int = 0
    """Rounds that did not."""
    rows: int = 0
    """Of all rounds that ended well."""
    last_started_ms: int = 0
    last_ended_ms: int = 0
    """Before the start while a round is under way."""
    last_succeeded_ms: int = 0
    """When a round last ended well; 0 before the first."""
    last_seconds: float = 0.0
    """How long the last round that ended took."""
    last_rows: int = 0
    offsets: dict[str, dict[int, int]] = {}
    """By topic and partition, the next offset to read."""
    facts: dict[str, str | int | float | bool | None] = {}
    """What the pipeline itself found worth telling of its last round."""
    error: str | None = None
    """Of the last round, if it failed."""

    @property
    def is_running(self) -> bool:
        """Or was, when its process was killed."""
        return self.last_started_ms > self.last_ended_ms
