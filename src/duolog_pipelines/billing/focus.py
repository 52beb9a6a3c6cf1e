"""Charges as rows of FOCUS, the FinOps Open Cost and Usage Specification. Pure.

The columns are those of version 1.2 that a provider of this kind can fill in.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.pricing import PLACES, Charge

PROVIDER = "Duolog"
_MONEY = pa.decimal128(38, PLACES)
_TIME = pa.timestamp("us", "UTC")
_TEXT = pa.string()

SCHEMA = pa.schema(
    [
        ("BilledCost", _MONEY),
        ("BillingAccountId", _TEXT),
        ("BillingAccountName", _TEXT),
        ("BillingCurrency", _TEXT),
        ("BillingPeriodStart", _TIME),
        ("BillingPeriodEnd", _TIME),
        ("ChargeCategory", _TEXT),
        ("ChargeClass", _TEXT),
        ("ChargeDescription", _TEXT),
        ("ChargeFrequency", _TEXT),
        ("ChargePeriodStart", _TIME),
        ("ChargePeriodEnd", _TIME),
        ("ConsumedQuantity", _MONEY),
        ("ConsumedUnit", _TEXT),
        ("ContractedCost", _MONEY),
        ("ContractedUnitPrice", _MONEY),
        ("EffectiveCost", _MONEY),
        ("InvoiceId", _TEXT),
        ("InvoiceIssuerName", _TEXT),
        ("ListCost", _MONEY),
        ("ListUnitPrice", _MONEY),
        ("PricingCategory", _TEXT),
        ("PricingQuantity", _MONEY),
        ("PricingUnit", _TEXT),
        ("ProviderName", _TEXT),
        ("PublisherName", _TEXT),
        ("ResourceId", _TEXT),
        ("ResourceName", _TEXT),
        ("ResourceType", _TEXT),
        ("ServiceCategory", _TEXT),
        ("ServiceName", _TEXT),
        ("ServiceSubcategory", _TEXT),
        ("SkuId", _TEXT),
        ("SkuMeter", _TEXT),
        ("SkuPriceId", _TEXT),
        ("SubAccountId", _TEXT),
    ]
)

Row = dict[str, Any]


class Invoiced(NamedTuple):
    """Properties shared by all charges of a month's invoices."""

    period: Period
    currency: str


def focus_rows(charges: Iterable[Charge], invoiced: Invoiced) -> list[Row]:
    return [_row(charge, invoiced) for charge in charges]


def focus_table(charges: Sequence[Charge], invoiced: Invoiced) -> pa.Table:
    return pa.Table.from_pylist(focus_rows(charges, invoiced), SCHEMA)


def invoice_id(period: Period, tenant: str) -> str:
    return f"{period}-{tenant}"


def _row(charge: Charge, invoiced: Invoiced) -> Row:
    period, currency = invoiced
    is_used = charge.category == "Usage"
    is_corrected = charge.category == "Adjustment" and charge.price is not None
    # Credits have no list cost: a consumer may sum ListCost to see what it saved.
    list_cost = charge.cost if is_used or is_corrected else Decimal(0)
    return {
        "BilledCost": charge.cost,
        "BillingAccountId": charge.tenant,
        "BillingAccountName": charge.tenant,
        "BillingCurrency": currency,
        "BillingPeriodStart": period.start,
        "BillingPeriodEnd": period.end,
        "ChargeCategory": charge.category,
        "ChargeClass": "Correction" if is_corrected else None,
        "ChargeDescription": charge.description,
        "ChargeFrequency": "Usage-Based" if charge.price else "One-Time",
        "ChargePeriodStart": charge.charge_period.start,
        "ChargePeriodEnd": charge.charge_period.end,
        "ContractedCost": list_cost,
        "EffectiveCost": charge.cost,
        "InvoiceId": invoice_id(period, charge.tenant),
        "InvoiceIssuerName": PROVIDER,
        "ListCost": list_cost,
        "ProviderName": PROVIDER,
        "PublisherName": PROVIDER,
        "ResourceId": f"{charge.kind}/{charge.resource}" if charge.resource else None,
        "ResourceName": charge.resource,
        "ResourceType": charge.kind.title() if charge.kind else None,
        "ServiceCategory": "Integration",
        "ServiceName": PROVIDER,
        "ServiceSubcategory": "Messaging",
        "SubAccountId": charge.tenant,
        **_priced(charge),
    }


def _priced(charge: Charge) -> Row:
    """Columns that only a charge with a price has."""
    price = charge.price
    if price is None:
        return {}
    meter = price.meter
    return {
        "ConsumedQuantity": charge.quantity,
        "ConsumedUnit": meter.unit,
        "ContractedUnitPrice": price.amount,
        "ListUnitPrice": price.amount,
        "PricingCategory": "Standard",
        "PricingQuantity": charge.quantity / meter.pricing_size,
        "PricingUnit": meter.pricing_unit,
        "SkuId": price.sku,
        "SkuMeter": meter.name,
        "SkuPriceId": f"{price.sku}@{price.amount}",
    }


def csv_text(rows: Iterable[Row]) -> str:
    """The rows as CSV with a header; times in ISO 8601, absent values empty."""
    lines = [",".join(SCHEMA.names)]
    lines += [",".join(_cell(row.get(name)) for name in SCHEMA.names) for row in rows]
    return "\r\n".join(lines) + "\r\n"


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case Decimal():
            text = f"{value.normalize():f}"
            return "0" if text in ("-0", "") else text
        case _:
            text = str(value)
            return f'"{text.replace(chr(34), chr(34) * 2)}"' if _needs_quotes(text) else text


def _needs_quotes(text: str) -> bool:
    return any(mark in text for mark in ',"\r\n')
