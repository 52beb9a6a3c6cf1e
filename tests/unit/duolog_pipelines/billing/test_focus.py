"""Charges as FOCUS has them."""

import csv
import io
from decimal import Decimal

from duolog_pipelines.billing.focus import SCHEMA, Invoiced, csv_text, focus_rows, focus_table
from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.price_list import parse_price_list
from duolog_pipelines.billing.pricing import Subject, adjustments, charges, with_roundings

PRICES = parse_price_list(
    'currency = "EUR"\n[[list]]\nfrom = 2026-01-01\n[list.send]\n'
    "per_million_messages = 3\nfree_messages = 10",
    "test",
).lists[0]
OCTOBER, NOVEMBER = Period(2026, 10), Period(2026, 11)
SUBJECT = Subject("acme", "queue", 'a "quoted", name', "send")
INVOICED = Invoiced(NOVEMBER, "EUR")
REQUIRED = {
    *("BilledCost", "BillingAccountId", "BillingCurrency", "BillingPeriodStart"),
    *("BillingPeriodEnd", "ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd"),
    *("ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "ProviderName"),
    *("PublisherName", "ServiceCategory", "ServiceName", "ChargeDescription"),
}
"""Those that may not be null in version 1.2."""


def rows() -> list[dict]:  # type: ignore[type-arg]
    made = charges(NOVEMBER, {SUBJECT: {"messages": 1_000_000}}, PRICES)
    made += adjustments(OCTOBER, {SUBJECT: {"messages": 20}}, {SUBJECT: {"messages": 5}}, PRICES)
    every, _ = with_roundings(made, NOVEMBER, "EUR", 2)
    return focus_rows(every, INVOICED)


def test_every_row_has_what_may_not_be_absent() -> None:
    for row in rows():
        assert {name for name, value in row.items() if value is not None} >= REQUIRED
        assert row.keys() <= set(SCHEMA.names)


def test_usage_credit_and_adjustment_are_told_apart() -> None:
    by_category = {(row["ChargeCategory"], row["ChargeClass"]): row for row in rows()}
    usage = by_category["Usage", None]
    assert (usage["ConsumedQuantity"], usage["ConsumedUnit"]) == (Decimal(1_000_000), "Messages")
    assert (usage["PricingQuantity"], usage["PricingUnit"]) == (Decimal(1), "1M Messages")
    assert usage["ListCost"] == usage["ListUnitPrice"] * usage["PricingQuantity"] == 3
    credit = by_category["Credit", None]
    assert (credit["BilledCost"], credit["ListCost"]) == (Decimal("-0.00003"), 0)
    late = by_category["Adjustment", "Correction"]
    assert (late["ChargePeriodStart"], late["BillingPeriodStart"]) == (
        OCTOBER.start,
        NOVEMBER.start,
    )
    rounding = by_category["Adjustment", None]
    assert rounding["ChargeDescription"] == "Rounding to 0.01 EUR"
    assert sum(row["BilledCost"] for row in rows()) == Decimal("3.00")


def test_csv_and_parquet_have_the_same_rows() -> None:
    every, _ = with_roundings(
        charges(NOVEMBER, {SUBJECT: {"messages": 12}}, PRICES), NOVEMBER, "EUR", 2
    )
    table = focus_table(every, INVOICED).to_pylist()
    read = list(csv.DictReader(io.StringIO(csv_text(focus_rows(every, INVOICED)), newline="")))
    assert list(read[0]) == SCHEMA.names
    assert [row["ResourceName"] or None for row in read] == [row["ResourceName"] for row in table]
    assert [Decimal(row["BilledCost"]) for row in read] == [row["BilledCost"] for row in table]
    assert {row["BillingPeriodStart"] for row in read} == {"2026-11-01T00:00:00Z"}
