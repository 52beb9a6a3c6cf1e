"""The charges of a month, computed from usage lines below given offsets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from duolog_pipelines.billing.closing import Closed, Offsets
from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.price_list import PriceList, Prices, parse_price_list
from duolog_pipelines.billing.pricing import Charge, Subject, adjustments, charges, with_roundings
from duolog_pipelines.billing.quantities import below, by_month, in_months, used_by_month
from duolog_pipelines.billing.reconciliation import NodeTotals
from duolog_pipelines.delta import SparkTable, Statistics
from duolog_pipelines.usage.journals import JournalName
from duolog_pipelines.usage.lines import COUNTS, SUBJECT
from duolog_pipelines.usage.totals import sums

_SENT = "node INT, journal STRING, sent LONG"
_BEGINNING = Period(1970, 1)


@dataclass(frozen=True)
class Invoices:
    """Invoices of all tenants for a month."""

    charges: list[Charge]
    owed: dict[str, Decimal]


class Computing:
    def __init__(self, spark: SparkSession, lines: SparkTable) -> None:
        self._spark = spark
        self._lines = lines
        self._files = lines.statistics()

    def months(self) -> set[Period]:
        """Months that have usage."""
        dates = [date.fromisoformat(each.partition["date"] or "") for each in self._files]
        return {Period(each.year, each.month) for each in dates}

    def reached(self) -> dict[int, int]:
        """End offset of the lines taken so far, by partition."""
        last = self._lines.frame(self._spark).groupBy("partition").agg(F.max("offset") + 1)
        return dict(sorted((row[0], row[1]) for row in last.collect()))

    def invoices(
        self,
        period: Period,
        from_offsets: Offsets,
        to_offsets: Offsets,
        price_list: PriceList,
        closed: Mapping[Period, Closed],
    ) -> Invoices:
        """Compute invoices; the same arguments always give the same result, as lines never
        change."""
        used = self._used(period, period.next, below(to_offsets))
        made = charges(period, used.get(period, {}), price_list.at(period))
        is_late = below(to_offsets) & ~below(from_offsets)
        late = self._used(_BEGINNING, period, is_late)
        for month, its in sorted(late.items()):
            before = self._used(month, month.next, below(from_offsets))
            prices = _prices_of(month, price_list, closed)
            made += adjustments(month, before.get(month, {}), its, prices)
        every, owed = with_roundings(made, period, price_list.currency, price_list.decimals)
        return Invoices(every, owed)

    def sums_up_to(
        self, totals: list[NodeTotals]
    ) -> dict[JournalName, dict[Subject, dict[str, int]]]:
        """Sums of each journal's lines, up to the sequence that its node has reported."""
        if not totals:
            return {}
        sent = self._spark.createDataFrame(
            [(each.node, each.journal, each.sent_sequence) for each in totals], _SENT
        )
        lines = self._lines.frame(self._spark).withColumn("lines", F.lit(1).cast("long"))
        summed = (
            lines.join(F.broadcast(sent), ["node", "journal"])
            .where("sequence <= sent")
            .groupBy("node", "journal", *SUBJECT)
            .agg(*sums())
        )
        found: dict[JournalName, dict[Subject, dict[str, int]]] = {}
        for row in summed.collect():
            name = JournalName(row["node"], row["journal"])
            subject = Subject(*(row[each] for each in SUBJECT))
            found.setdefault(name, {})[subject] = {each: int(row[each]) for each in COUNTS}
        return found

    def _used(
        self, first: Period, end: Period, is_in: Column
    ) -> dict[Period, dict[Subject, dict[str, int]]]:
        """Usage in selected lines, for the months from `first` up to `end`, excluded."""
        paths = [each.path for each in self._files if _overlaps(each, first, end)]
        if not paths:
            return {}
        lines = self._lines.frame(self._spark, paths)
        return used_by_month(by_month(lines.where(in_months(first, end) & is_in)).collect())


def _overlaps(file: Statistics, first: Period, end: Period) -> bool:
    lowest, highest = file.lowest["from_ms"], file.highest["from_ms"]
    return bool(lowest < end.start_ms and highest >= first.start_ms)


def _prices_of(month: Period, price_list: PriceList, closed: Mapping[Period, Closed]) -> Prices:
    """Prices by which the month was billed; for a month never billed, those of the current list."""
    if month not in closed:
        return price_list.at(month)
    return parse_price_list(closed[month].prices, f"of {month}").at(month)
