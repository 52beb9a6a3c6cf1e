"""From lines in the log to usage by hour and by day, each line once."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.harness.node import Node
from tests.harness.usage_sheets import HOUR_MS, JOURNAL, START_MS, Sheet, sheet_of, write_sheets

from duolog_pipelines.errors import PipelineError
from duolog_pipelines.lake import Lake
from duolog_pipelines.pipeline import Outcome, Span
from duolog_pipelines.registry import pipeline
from duolog_pipelines.running import Place, Runner
from duolog_pipelines.state import States
from duolog_pipelines.usage.tables import UsageTables

DAY = datetime.fromtimestamp(START_MS / 1000, UTC).date()


class Usage:
    """The pipeline with a topic and a lake of its own."""

    def __init__(self, spark: SparkSession, node: Node, topic: str, lake: Lake) -> None:
        self.node = node
        self.topic = topic
        self.lake = lake
        self.runner = Runner(spark, Place(node.kafka, node.admin, lake))

    def write(self, *sheets: Sheet | bytes, partition: int = 0) -> None:
        write_sheets(self.node.kafka, self.topic, sheets, partition)

    def run(self, span: Span | None = None, **options: Any) -> Outcome:
        given = {"topic": self.topic, **{name: str(value) for name, value in options.items()}}
        return self.runner.run(pipeline("usage"), given, span).outcome

    def messages(self, table: str = "usage_daily") -> dict[tuple[str, str], int]:
        """By resource and operation."""
        sums: dict[tuple[str, str], int] = {}
        for row in self.lake.rows(table):
            key = row["resource"], row["operation"]
            sums[key] = sums.get(key, 0) + row["messages"]
        return sums

    def names(self) -> list[tuple[int, int, int]]:
        """Sequence, part and number of each line."""
        columns = ["sequence", "part", "line"]
        rows = self.lake.rows("usage_lines", columns)
        return sorted(tuple(row[each] for each in columns) for row in rows)


@pytest.fixture
def usage(spark: SparkSession, node: Node, new_topic: Callable[..., str], tmp_path: Path) -> Usage:
    return Usage(spark, node, new_topic(), Lake.within(tmp_path))


SEND = {"operation": "send", "messages": 10, "requests": 1, "bytes": 100}
RECEIVE = {"operation": "receive", "messages": 7, "requests": 2, "bytes": 70}


def test_usage_is_summed_by_hour_and_by_day_as_it_comes(usage: Usage) -> None:
    huge = 9_000_000_000_000_000_000
    usage.write(
        sheet_of(0, SEND, RECEIVE),
        sheet_of(1, SEND, from_ms=START_MS + HOUR_MS - 5_000),
        sheet_of(2, {"operation": "store", "byte_seconds": huge}, from_ms=START_MS + HOUR_MS),
        sheet_of(3, {"operation": "store", "byte_seconds": huge}, from_ms=START_MS + HOUR_MS),
    )
    outcome = usage.run()
    assert outcome.rows == 5
    assert outcome.offsets == {usage.topic: {0: 4, 1: 0}}
    assert outcome.facts == {"repeated": 0, "rejected": 0, "hours": 2, "gaps": 0}
    assert usage.messages() == {
        ("orders", "send"): 20,
        ("orders", "receive"): 7,
        ("orders", "store"): 0,
    }
    stored = [row for row in usage.lake.rows("usage_hourly") if row["operation"] == "store"]
    assert stored == [
        {
            "tenant": "000000000000",
            "kind": "queue",
            "resource": "orders",
            "operation": "store",
            "hour": datetime.fromtimestamp(START_MS / 1000 + 3600, UTC),
            "requests": 0,
            "messages": 0,
            "bytes": 0,
            "byte_seconds": Decimal(2 * huge),
            "errors": 0,
            "lines": 2,
            "date": DAY,
        }
    ]
    usage.write(sheet_of(4, SEND, from_ms=START_MS + 10_000))
    assert usage.run().facts["hours"] == 1
    assert usage.messages()["orders", "send"] == 30
    assert usage.messages("usage_hourly") == usage.messages()
    assert States(usage.lake.states).of("usage").rows == 6
    before = usage.lake.rows("usage_daily")
    assert usage.run(span=Span(START_MS + 1, START_MS + HOUR_MS)).facts == {"hours": 1}
    assert usage.messages("usage_hourly") == usage.messages()
    assert sorted(map(str, usage.lake.rows("usage_daily"))) == sorted(map(str, before))


def test_a_line_counts_once_wherever_and_however_often_it_was_written(usage: Usage) -> None:
    first, third = sheet_of(0, SEND, RECEIVE), sheet_of(2, SEND, RECEIVE)
    left, right = sheet_of(1, SEND, parts=2), sheet_of(1, RECEIVE, part=1, parts=2)
    usage.write(first, left, first)
    usage.write(left, partition=1)
    outcome = usage.run(gaps="report")
    assert (outcome.rows, outcome.facts["repeated"], outcome.facts["gaps"]) == (3, 3, 1)
    usage.write(left, right, third, first, partition=1)
    outcome = usage.run()
    assert (outcome.rows, outcome.facts["repeated"]) == (3, 3)
    assert usage.names() == [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0), (2, 0, 0), (2, 0, 1)]
    assert usage.messages() == {("orders", "send"): 30, ("orders", "receive"): 21}


def test_missing_sequences_are_an_error_that_names_them(usage: Usage) -> None:
    usage.write(sheet_of(1, SEND), sheet_of(5, SEND, parts=2))
    said = (
        f"journal {JOURNAL} of node 1 lacks sequence 0; journal {JOURNAL} of node 1 lacks"
        f" sequences 2 to 4; journal {JOURNAL} of node 1 lacks parts 1 of the 2 of sequence 5"
    )
    with pytest.raises(PipelineError, match=said):
        usage.run()
    assert usage.messages() == {("orders", "send"): 20}
    assert said in (States(usage.lake.states).of("usage").error or "")
    usage.write(
        *(sheet_of(number, SEND) for number in (0, 2, 3, 4)),
        *(sheet_of(5, SEND, part=part, parts=2) for part in range(2)),
    )
    assert usage.run().facts["gaps"] == 0
    assert States(usage.lake.states).of("usage").error is None
    assert usage.messages() == {("orders", "send"): 70}


def test_sheets_of_other_versions_are_read_and_what_is_no_sheet_is_kept_apart(
    usage: Usage,
) -> None:
    newer = sheet_of(0, SEND, version=2, currency="EUR", nested={"a": [1]})
    bare = sheet_of(1, RECEIVE)
    for name in ("requests", "bytes", "byte_seconds", "errors", "version"):
        del bare[name]
    good = sheet_of(2, SEND, SEND)
    broken: list[Sheet | bytes] = [
        {**good, "messages": ["forty", 1]},
        {**good, "messages": [None, 1]},
        {**good, "messages": [-1, 1]},
        {**good, "messages": [1]},
        {**good, "resource": None},
        {**good, "part": 1},
        {**good, "from_ms": good["to_ms"] + 1},
        sheet_of(2),
        b"no sheet at all",
        b"{}",
    ]
    usage.write(newer, bare, *broken, sheet_of(3, SEND))
    with pytest.raises(PipelineError, match="lacks sequence 2"):
        usage.run()
    assert usage.messages() == {("orders", "send"): 20, ("orders", "receive"): 7}
    kept = sorted((row["offset"], row["value"]) for row in usage.lake.rows("usage_rejected"))
    assert [offset for offset, _ in kept] == list(range(2, 2 + len(broken)))
    assert kept[-2][1] == b"no sheet at all"


def test_small_files_become_one_and_nothing_is_summed_again_for_it(
    usage: Usage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog_pipelines.upkeep.SMALL_FILES_MIN", 3)
    hours = [START_MS + number * HOUR_MS for number in range(3)]
    usage.write(*(sheet_of(number, SEND, from_ms=from_ms) for number, from_ms in enumerate(hours)))
    assert usage.run(records_per_batch=1).facts["hours"] == 3
    lines = UsageTables(usage.lake).lines
    (file,) = lines.statistics()
    assert (file.rows, file.lowest["from_ms"], file.highest["from_ms"]) == (3, hours[0], hours[2])
    assert usage.run().facts["hours"] == 0
    usage.write(sheet_of(3, SEND, from_ms=hours[1] + 5_000))
    assert usage.run().facts["hours"] == 1
    assert usage.messages("usage_hourly") == usage.messages() == {("orders", "send"): 40}


def test_a_round_that_dies_halfway_is_not_counted_twice(
    usage: Usage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise OSError("no space left")

    usage.write(sheet_of(0, SEND, RECEIVE), sheet_of(1, SEND))
    with monkeypatch.context() as patched:
        patched.setattr("duolog_pipelines.usage.taking.replace_file", die)
        with pytest.raises(PipelineError, match="no space left"):
            usage.run()
    names = [(0, 0, 0), (0, 0, 1), (1, 0, 0)]
    assert usage.names() == names, "the lines were committed before it died"
    assert (usage.run().rows, usage.names()) == (0, names)
    assert usage.messages() == {("orders", "send"): 20, ("orders", "receive"): 7}
    shutil.rmtree(usage.lake.checkpoint("usage"))
    usage.lake.checkpoint("usage.journals.json").unlink()
    outcome = usage.run()
    assert (outcome.rows, outcome.facts["repeated"]) == (0, 3)
    assert usage.messages() == {("orders", "send"): 20, ("orders", "receive"): 7}
