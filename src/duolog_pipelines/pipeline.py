"""Interface of a pipeline, and the tools that it is given.

A pipeline's module imports Spark only inside its functions: `duolog pipeline ls` and `report` then
work, quickly, without Spark.
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
"""Next offset to read, by topic and partition."""


class Span(NamedTuple):
    """A time span in milliseconds since 1970; its end is excluded."""

    from_ms: int
    to_ms: int


class Progress(Protocol):
    """Progress display for a person who waits."""

    def step(self, text: str) -> None:
        """Show the current step, such as "reading __usage" now."""

    def add_rows(self, count: int) -> None:
        """Add to the number of rows done."""


@dataclass(frozen=True)
class Outcome:
    """Result of a round, once everything is written."""

    rows: int = 0
    """Rows processed, in the pipeline's own measure."""
    offsets: Offsets = field(default_factory=dict)
    """Offsets up to which the round has read; empty if it does not read by offsets."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further results as plain values, which are printed and kept in the state."""
    error: str | None = None
    """A problem that did not stop the round, such as usage that never arrived. The run counts as
    failed."""


@dataclass(frozen=True)
class Stage:
    """Tools and inputs of a round."""

    spark: "SparkSession"
    bootstrap_servers: str
    """HOST:PORT, in the form of the connector's option."""
    admin_address: str
    """HOST:PORT of a node's admin API."""
    lake: Lake
    """The data directory of the pipelines."""
    options: Mapping[str, Any]
    """Parsed values of all options that the pipeline declares."""
    progress: Progress
    now_ms: int
    """Start time of the round. Pipelines use it and read no clock."""
    run_first: Callable[[str, Mapping[str, str]], Outcome]
    """Runs a round of another pipeline that this one builds on, with options as texts."""


class Pipeline(Protocol):
    @property
    def name(self) -> str:
        """Name, as `duolog pipeline run` takes it."""

    @property
    def description(self) -> str:
        """Description in one line."""

    @property
    def options(self) -> Mapping[str, Option]:
        """Declared options, by name."""

    def run(self, stage: Stage) -> Outcome:
        """Process everything that is new since the last round, then return.

        PipelineError for what a person should be told without a traceback.
        """

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        """Recompute the results for a time span. NotAllowed where that makes no sense."""

    def sections(self, lake: Lake) -> Sequence[Section]:
        """Sections of `duolog pipeline report`, from written results; none before a run.

        Without Spark: read tables with `Lake.rows` or `Lake.arrow`.
        """
