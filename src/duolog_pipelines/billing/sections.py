"""The report's sections on bills, from exported files."""

from collections.abc import Sequence
from decimal import Decimal

from duolog_pipelines.billing.closing import Closed
from duolog_pipelines.billing.invoices import Invoices
from duolog_pipelines.billing.reconciled import last_reconciliation
from duolog_pipelines.lake import Lake
from duolog_pipelines.report.section import Chart, Section, Table

MONTHS = 12
ROWS_MAX = 25
DIFFERENCES_MAX = 100


def billing_sections(lake: Lake) -> list[Section]:
    invoices = Invoices(lake.exports("billing"))
    records = [*invoices.closed(), *invoices.drafts()][-MONTHS:]
    if not records:
        return []
    last = records[-1]
    tables = [_invoices(records), _charges(invoices, last)]
    sections = [Section("Bills", "A draft may still change.", tables, [_chart(records)])]
    reconciled = _reconciliation(lake)
    return sections if reconciled is None else [*sections, reconciled]


def _invoices(records: Sequence[Closed]) -> Table:
    rows = [
        (
            record.period,
            "closed" if record.closed_ms else "draft",
            tenant,
            Decimal(amount),
            record.currency,
            ", ".join(f"{at}:{offset}" for at, offset in sorted(record.to_offsets.items())),
        )
        for record in reversed(records)
        for tenant, amount in record.owed.items()
    ]
    columns = ("month", "state", "tenant", "owed", "currency", "offsets below")
    return Table("Invoices", columns, rows[:ROWS_MAX], _more(rows))


def _charges(invoices: Invoices, record: Closed) -> Table:
    charges = invoices.charges_of(record)
    charges.sort(key=lambda row: (-abs(row["BilledCost"]), row["ChargeDescription"]))
    rows = [
        (
            row["BillingAccountId"],
            row["ChargeCategory"],
            row["ChargeDescription"],
            _trimmed(row["ConsumedQuantity"]),
            _trimmed(row["BilledCost"]),
        )
        for row in charges
    ]
    columns = ("tenant", "category", "charge", "quantity", "cost")
    title = f"Charges of {record.period}"
    return Table(title, columns, rows[:ROWS_MAX], _more(rows, "the greatest; "))


def _chart(records: Sequence[Closed]) -> Chart:
    tenants = sorted({tenant for record in records for tenant in record.owed})
    series = {
        tenant: [float(record.owed.get(tenant, 0)) for record in records] for tenant in tenants
    }
    labels = [record.period for record in records]
    return Chart("Owed by month and tenant", "bars", labels, series, records[-1].currency)


def _reconciliation(lake: Lake) -> Section | None:
    told = last_reconciliation(lake)
    if told is None:
        return None
    compared = [(each["node"], each["journal"], each["sent_sequence"]) for each in told.journals]
    tables = [Table("Compared", ("node", "journal", "up to sequence"), compared)]
    if told.differences:
        rows = [(each,) for each in told.differences]
        tables.append(Table("Differences", ("difference",), rows[:DIFFERENCES_MAX], _more(rows)))
    if told.silent:
        tables.append(Table("Not compared", ("node",), [(each,) for each in told.silent]))
    text = (
        "Lines and nodes differ."
        if told.differences
        else "Lines have what the nodes have counted, to the message."
        if told.journals
        else "No node has told what it has counted."
    )
    return Section("Reconciliation", text, tables)


def _more(rows: Sequence[object], which: str = "") -> str:
    more = len(rows) - ROWS_MAX
    return f"{which}{more} more" if more > 0 else ""


def _trimmed(value: Decimal | None) -> Decimal | None:
    """The number without trailing zeros."""
    if value is None:
        return None
    trimmed = value.normalize()
    return trimmed.quantize(Decimal(1)) if trimmed == trimmed.to_integral() else trimmed
