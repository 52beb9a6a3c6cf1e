"""What a pipeline is, and what it is given to work with.

The module of a pipeline imports Spark only inside its functions: `duolog pipeline ls` and
`report` work, quickly, where there is none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from duolog_pipelines.lake import Lake
from duolog_pipelines.option import Option
from duolog_pipelines.report.section import Section

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Offsets = Mapping[str, Mapping[int, int]]
"""By topic and partition: the next offset to read."""


class Span(NamedTuple):
    """A stretch of time, in milliseconds since 1970; its end is not part of it."""

    from_ms: int
    to_ms: int


class Progress(Protocol):
    """What a person who waits is shown."""

    def step(self, text: str) -> None:
        """What is being done now, such as "reading __usage"."""

    def add_rows(self, count: int) -> None:
        """So many more are done."""


@dataclass(frozen=True)
class Outcome:
    """What a round has done, once it is all written."""

    rows: int = 0
    """How many were processed, in the pipeline's own measure."""
    offsets: Offsets = field(default_factory=dict)
    """How far it has read; empty where that is not measured in offsets."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else is worth telling, as plain values: it is printed, and kept in the state."""
    error: str | None = None
    """What is wrong although everything was written, such as usage that never arrived. The
    run counts as failed."""


@dataclass(frozen=True)
class Stage:
    """What a pipeline works with."""

    spark: "SparkSession"
    bootstrap_servers: str
    """HOST:PORT, as the connector's option wants it."""
    admin_address: str
    """HOST:PORT of a node's admin API."""
    lake: Lake
    """The data directory of the pipelines."""
    options: Mapping[str, Any]
    """The values of all options that the pipeline declares, as `read` has made them."""
    progress: Progress
    now_ms: int
    """When the round began. A pipeline is told the time, and reads no clock."""
    run_first: Callable[[str, Mapping[str, str]], Outcome]
    """Runs a round of another pipeline that this one builds on, with options as texts."""


class Pipeline(Protocol):
    @property
    def name(self) -> str:
        """As `duolog pipeline run` takes it."""

    @property
    def description(self) -> str:
        """One line."""

    @property
    def options(self) -> Mapping[str, Option]:
        """By name."""

    def run(self, stage: Stage) -> Outcome:
        """One round: take what is there now, and end. It goes on where the last one ended.

        PipelineError for what a person should be told without a traceback.
        """

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        """Compute what lies within the span again. NotAllowed where that makes no sense."""

    def sections(self, lake: Lake) -> Sequence[Section]:
        """What `duolog pipeline report` shows, from what is written; nothing before a run.

        Without Spark: read tables with `Lake.rows` or `Lake.arrow`.
        """
