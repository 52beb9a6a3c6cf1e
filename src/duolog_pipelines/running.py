"""Runs rounds of pipelines, one at a time, and records how each went."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duolog_pipelines.errors import PipelineError
from duolog_pipelines.lake import Lake
from duolog_pipelines.lock import only_run
from duolog_pipelines.option import read_values
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.progress import progress_of
from duolog_pipelines.registry import pipeline as registered
from duolog_pipelines.state import States, begun, failed, succeeded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Place:
    """Addresses of the nodes, and the data directory of the pipelines."""

    bootstrap_servers: str
    admin_address: str
    lake: Lake


@dataclass(frozen=True)
class Round:
    pipeline: str
    outcome: Outcome
    seconds: float


class Runner:
    def __init__(
        self,
        spark: "SparkSession",
        place: Place,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._spark = spark
        self._place = place
        self._now_ms = now_ms
        self._states = States(place.lake.states)

    def run(self, pipeline: Pipeline, given: Mapping[str, str], span: Span | None = None) -> Round:
        """Run one round, or with a span recompute what lies in it.

        PipelineError for any failure, which is kept in the state, too.
        """
        options = read_values(pipeline.options, given)
        with only_run(self._place.lake.locks, pipeline.name), progress_of(pipeline.name) as shown:
            started_ms = self._now_ms()
            before = self._states.of(pipeline.name)
            state = begun(before, started_ms)
            self._states.keep(state)
            stage = Stage(
                spark=self._spark,
                bootstrap_servers=self._place.bootstrap_servers,
                admin_address=self._place.admin_address,
                lake=self._place.lake,
                options=options,
                progress=shown,
                now_ms=started_ms,
                run_first=lambda name, its: self.run(registered(name), its).outcome,
            )
            try:
                outcome = _performed(pipeline, stage, span)
            except KeyboardInterrupt:
                # An interruption is no failure; the next round does what this one has left.
                self._states.keep(before)
                raise
            except BaseException as error:
                self._states.keep(failed(state, str(error) or repr(error), self._now_ms()))
                raise
            ended_ms = self._now_ms()
            if outcome.error is not None:
                self._states.keep(failed(state, outcome.error, ended_ms, outcome))
                raise PipelineError(outcome.error)
            self._states.keep(succeeded(state, outcome, ended_ms))
        return Round(pipeline.name, outcome, (ended_ms - started_ms) / 1000)


def _performed(pipeline: Pipeline, stage: Stage, span: Span | None) -> Outcome:
    from pyspark.errors import PySparkException

    from duolog_pipelines.spark_errors import connector_explained, explained
    from pyspark_duolog.errors import ConnectorError

    try:
        return pipeline.run(stage) if span is None else pipeline.backfill(stage, span)
    except PySparkException as error:
        raise explained(error) from error
    except ConnectorError as error:
        raise connector_explained(error) from error
