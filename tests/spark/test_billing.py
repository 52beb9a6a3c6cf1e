"""From usage to invoices that are closed for good."""

import csv
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.harness.node import Node
from tests.harness.usage_sheets import JOURNAL, Sheet, sheet_of, write_sheets
from tests.unit.cli.door_server import DoorServer

from duolog_pipelines.billing.period import Period
from duolog_pipelines.errors import InvalidInput, NotAllowed, PipelineError
from duolog_pipelines.lake import Lake
from duolog_pipelines.pipeline import Outcome, Span
from duolog_pipelines.registry import pipeline
from duolog_pipelines.running import Place, Runner

SEPTEMBER, OCTOBER, NOVEMBER = (Period(2026, month) for month in (9, 10, 11))
DAY_MS = 86_400_000
PRICES = """\
currency = "EUR"
[[list]]
from = 2026-01-01
[list.send]
per_million_messages = 1000
free_messages = 100
"""


class Billing:
    """The pipeline with a topic, a lake and a clock of its own, and a node that counts."""

    def __init__(
        self, spark: SparkSession, node: Node, topic: str, directory: Path, doors: DoorServer
    ) -> None:
        self.now_ms = 0
        self._topic = topic
        self._kafka = node.kafka
        self._lake = Lake.within(directory)
        self._prices = directory / "prices.toml"
        self._prices.write_text(PRICES)
        place = Place(node.kafka, doors.address, self._lake)
        self._runner = Runner(spark, place, lambda: self.now_ms)

    def write(self, *sheets: Sheet) -> None:
        write_sheets(self._kafka, self._topic, sheets)

    def run(self, now_ms: int, span: Span | None = None, **options: str) -> Outcome:
        self.now_ms = now_ms
        given = {"topic": self._topic, "prices": str(self._prices), **options}
        return self._runner.run(pipeline("billing"), given, span).outcome

    def raise_prices(self) -> None:
        self._prices.write_text(PRICES.replace("1000", "2000"))

    def rows(self, folder: str) -> list[dict[str, str]]:
        file = self._lake.exports("billing") / folder / "charges.csv"
        with file.open(newline="") as stream:
            return list(csv.DictReader(stream))

    def costs(self, folder: str) -> dict[tuple[str, str], Decimal]:
        """By category and description."""
        return {
            (row["ChargeCategory"], row["ChargeDescription"]): Decimal(row["BilledCost"])
            for row in self.rows(folder)
        }

    def everything(self, folder: str) -> dict[str, bytes]:
        directory = self._lake.exports("billing") / folder
        return {file.name: file.read_bytes() for file in sorted(directory.iterdir())}

    def lose_lines(self) -> None:
        from deltalake import DeltaTable

        DeltaTable(self._lake.table("usage_lines")).delete("sequence = 0")


@pytest.fixture
def doors() -> Iterator[DoorServer]:
    server = DoorServer()
    server.answers["GET /cluster"] = lambda _: (404, {"error": "there is no cluster"})
    server.answers["GET /usage"] = lambda _: (404, {"error": "there is no such page"})
    yield server
    server.stop()


@pytest.fixture
def billing(
    spark: SparkSession,
    node: Node,
    new_topic: Callable[..., str],
    tmp_path: Path,
    doors: DoorServer,
) -> Billing:
    return Billing(spark, node, new_topic(1), tmp_path, doors)


def sent(number: int, messages: int, period: Period) -> Sheet:
    subject = {"operation": "send", "messages": messages, "requests": 1}
    return sheet_of(number, subject, from_ms=period.start_ms)


def test_a_month_is_closed_by_offsets_and_late_usage_is_adjusted_in_the_next(
    billing: Billing,
) -> None:
    billing.write(sent(0, 1_100, SEPTEMBER), sent(1, 500, OCTOBER))
    outcome = billing.run(OCTOBER.start_ms + DAY_MS)
    assert (outcome.facts["closed"], outcome.facts["drafts"]) == ("2026-09", "2026-10")
    usage, free = "Messages of send, queue orders", "Free Messages of send"
    september = {("Usage", usage): Decimal("1.1"), ("Credit", free): Decimal("-0.1")}
    assert billing.costs("2026-09") == september
    assert billing.costs("draft-2026-10")["Usage", usage] == Decimal("0.5")
    kept = billing.everything("2026-09")

    billing.write(sent(2, 7, SEPTEMBER), sent(3, 100, OCTOBER))
    billing.raise_prices()
    outcome = billing.run(NOVEMBER.start_ms + DAY_MS)
    assert outcome.facts["closed"] == "2026-10"
    assert billing.costs("2026-10") == {
        ("Usage", usage): Decimal("1.2"),
        ("Credit", free): Decimal("-0.2"),
        ("Adjustment", f"Late for 2026-09: {usage}"): Decimal("0.007"),
        ("Adjustment", "Rounding to 0.01 EUR"): Decimal("0.003"),
    }
    assert billing.everything("2026-09") == kept

    again = billing.run(NOVEMBER.start_ms + 2 * DAY_MS, period="2026-10")
    assert again.facts == {"verified": "2026-10", "owed": "000000000000 1.01"}
    with pytest.raises(NotAllowed, match="2026-09 was closed by the offsets 0:2 of"):
        billing.run(NOVEMBER.start_ms, period="2026-09")
    with pytest.raises(NotAllowed, match="a closed month is not opened again"):
        billing.run(NOVEMBER.start_ms, Span(SEPTEMBER.start_ms, NOVEMBER.start_ms))
    with pytest.raises(NotAllowed, match="2026-11 is not closed"):
        billing.run(NOVEMBER.start_ms, period="2026-11")
    billing.lose_lines()
    with pytest.raises(PipelineError, match="2026-10 come out otherwise than when they were"):
        billing.run(NOVEMBER.start_ms, period="2026-10")


def totals(messages: int) -> dict[str, Any]:
    subject = {"tenant": "000000000000", "kind": "queue", "resource": "orders"}
    total = {**subject, "operation": "send", "requests": 1, "messages": messages}
    return {"node": 1, "journal": JOURNAL, "sent_sequence": 0, "totals": [total]}


def test_what_nodes_have_counted_is_compared_to_the_message(
    billing: Billing, doors: DoorServer
) -> None:
    billing.write(sent(0, 40, OCTOBER), sent(1, 2, OCTOBER))
    doors.answers["GET /usage"] = lambda _: totals(40)
    facts = billing.run(OCTOBER.start_ms).facts
    assert (facts["journals"], facts["differences"]) == (1, 0)
    doors.answers["GET /usage"] = lambda _: totals(41)
    with pytest.raises(PipelineError, match="are 41 by the node and 40 by its lines"):
        billing.run(OCTOBER.start_ms)


def test_bills_need_prices(billing: Billing) -> None:
    with pytest.raises(InvalidInput, match="Bills need a price list"):
        billing.run(OCTOBER.start_ms, prices="")
