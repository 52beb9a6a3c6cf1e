"""Actions behind the commands of `duolog pipeline`."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from duolog.cli import session as cli_session
from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, Row, RowStream, counted, print_rows, tell
from duolog.cli.positions import parse_position
from duolog.model.pipeline_state import PipelineState
from duolog_pipelines.errors import InvalidInput, Missing, NotAllowed, PipelineError, Unreachable
from duolog_pipelines.lake import Lake
from duolog_pipelines.option import read_values
from duolog_pipelines.pipeline import Pipeline, Span
from duolog_pipelines.registry import all_pipelines, pipeline
from duolog_pipelines.report.page import page
from duolog_pipelines.report.showing import show
from duolog_pipelines.running import Place, Round, Runner
from duolog_pipelines.session import missing_package, spark_session
from duolog_pipelines.state import States

_CODES = {
    InvalidInput: ExitCode.USAGE,
    Missing: ExitCode.NOT_FOUND,
    NotAllowed: ExitCode.NOT_ALLOWED,
    Unreachable: ExitCode.UNREACHABLE,
}
_ROUND_COLUMNS = {"pipeline": 10, "rows": 10, "seconds": 8, "facts": 40}
_STATUS_COLUMNS = ("pipeline", "status", "last_ended", "seconds", "rows", "runs", "failures")


class Engine(NamedTuple):
    """The Spark to run on: its master, and the driver's memory."""

    master: str
    driver_memory: str


@contextmanager
def reporting() -> Iterator[None]:
    """Turn every error that ends a command into a message on stderr and an exit code."""
    with cli_session.reporting():
        try:
            yield
        except PipelineError as error:
            raise Failure(str(error), _CODES.get(type(error), ExitCode.FAILED)) from error


def list_all(output: Format) -> None:
    rows = [
        {
            "name": each.name,
            "description": each.description,
            "options": [
                {"name": option.name, "default": option.default, "doc": option.doc}
                for option in each.options.values()
            ],
        }
        for each in all_pipelines()
    ]
    print_rows(rows, output, ("name", "description"))


def run(
    names: Sequence[str],
    given: Mapping[str, str],
    place: Place,
    engine: Engine,
    output: Format,
    *,
    every_seconds: float | None,
) -> None:
    """Run pipelines once, or repeatedly with `every_seconds` between the starts of two rounds."""
    wanted = [pipeline(name) for name in names]
    shared = [_for(each, given, wanted) for each in wanted]
    for each, options in zip(wanted, shared, strict=True):
        # Options are checked before Spark starts, which takes long.
        read_values(each.options, options)
    with (
        spark_session(names[0], engine.master, place.lake, engine.driver_memory) as spark,
        RowStream(output, _ROUND_COLUMNS) as rows,
    ):
        runner = Runner(spark, place)
        while True:
            began = time.monotonic()
            for each, options in zip(wanted, shared, strict=True):
                try:
                    rows.write(_round_row(runner.run(each, options)))
                except PipelineError as error:
                    # A wrong option or a refused operation would fail in every round.
                    if every_seconds is None or isinstance(error, InvalidInput | NotAllowed):
                        raise
                    tell(f"{each.name}: {error}")
            if every_seconds is None:
                return
            time.sleep(max(0.0, began + every_seconds - time.monotonic()))


def backfill(
    name: str,
    between: tuple[str, str],
    given: Mapping[str, str],
    place: Place,
    engine: Engine,
    output: Format,
) -> None:
    wanted = pipeline(name)
    now_ms = time.time_ns() // 1_000_000
    span = Span(_time_ms(between[0], now_ms), _time_ms(between[1], now_ms))
    with spark_session(name, engine.master, place.lake, engine.driver_memory) as spark:
        done = Runner(spark, place).run(wanted, given, span)
    print_rows([_round_row(done)], output, tuple(_ROUND_COLUMNS))


def status(lake: Lake, output: Format) -> None:
    states = [States(lake.states).of(each.name) for each in all_pipelines()]
    print_rows([_status_row(state) for state in states], output, _STATUS_COLUMNS)
    broken = [state for state in states if state.error is not None]
    if output is Format.table:
        for state in broken:
            tell(f"{state.pipeline}: {state.error}")
    if broken:
        raise Failure(
            f"The last run of {counted(len(broken), 'pipeline')} failed. Run it again when the"
            " reason is gone.",
            ExitCode.UNHEALTHY,
        )


def report(names: Sequence[str], html: Path | None, lake: Lake, output: Format) -> None:
    wanted = [pipeline(name) for name in names] or all_pipelines()
    try:
        sections = {each.name: each.sections(lake) for each in wanted}
    except ImportError as error:
        raise missing_package(error) from None
    show(sections, output)
    if not any(sections.values()):
        tell(f"There is nothing to report in {lake.root}. Run `duolog pipeline run NAME` first.")
    if html is not None:
        states = [States(lake.states).of(each.name) for each in wanted]
        latest = max(state.last_ended_ms for state in states)
        told = f"As of {_time(latest)} UTC." if latest else "No pipeline has run yet."
        html.write_text(page("Duolog", told, sections), encoding="utf-8")
        tell(f"Wrote {html}.")


def _for(one: Pipeline, given: Mapping[str, str], wanted: Sequence[Pipeline]) -> Mapping[str, str]:
    """The given options that a pipeline declares, plus those that none declares, so that it refuses
    these."""
    known = {name for each in wanted for name in each.options}
    return {name: text for name, text in given.items() if name in one.options or name not in known}


def _round_row(done: Round) -> Row:
    return {
        "pipeline": done.pipeline,
        "rows": done.outcome.rows,
        "seconds": done.seconds,
        "offsets": {topic: dict(reached) for topic, reached in done.outcome.offsets.items()},
        "facts": dict(done.outcome.facts),
    }


def _status_row(state: PipelineState) -> Row:
    kept: Row = msgspec.to_builtins(state, str_keys=True)
    return {
        "pipeline": state.pipeline,
        "status": _status(state),
        "last_started": _time(state.last_started_ms),
        "last_ended": _time(state.last_ended_ms),
        "last_succeeded": _time(state.last_succeeded_ms),
        "seconds": state.last_seconds,
        **kept,
    }


def _status(state: PipelineState) -> str:
    if state.is_running:
        return "running"
    if state.error is not None:
        return "failed"
    return "done" if state.runs else "never ran"


def _time(time_ms: int) -> str | None:
    if not time_ms:
        return None
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def _time_ms(text: str, now_ms: int) -> int:
    position = parse_position(text, now_ms)
    match position.kind:
        case "start":
            return 0
        case "end":
            return now_ms
        case "time":
            return position.value
        case _:
            raise InvalidInput(f"'{text}' is an offset. Give start, end or a time, such as @-1h.")
