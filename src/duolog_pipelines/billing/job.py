"""A round of the pipeline: updates usage, closes months that are over, compares with the nodes."""

import difflib
from decimal import Decimal

from duolog_pipelines.billing.closing import Closed, Offsets, planned
from duolog_pipelines.billing.computing import Computing
from duolog_pipelines.billing.computing import Invoices as Computed
from duolog_pipelines.billing.counters import Asked, ask_nodes
from duolog_pipelines.billing.focus import Invoiced, csv_text, focus_rows
from duolog_pipelines.billing.invoices import Invoices, digest
from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.price_list import PriceList, parse_price_list
from duolog_pipelines.billing.reconciled import Reconciliation, keep_reconciliation
from duolog_pipelines.billing.reconciliation import Difference, differences
from duolog_pipelines.errors import InvalidInput, NotAllowed, PipelineError
from duolog_pipelines.pipeline import Outcome, Span, Stage
from duolog_pipelines.usage.tables import UsageTables

HOUR_MS = 3_600_000
DIFFERENCES_NAMED_MAX = 5


def run(stage: Stage) -> Outcome:
    invoices = Invoices(stage.lake.exports("billing"))
    closed = {record.month: record for record in invoices.closed()}
    wanted: Period | None = stage.options["period"]
    if wanted is not None:
        return _recomputed(stage, invoices, closed, wanted)
    prices = _given_prices(stage)
    # Nodes are asked before the lines are read, so that the lines include all that they had sent.
    asked = ask_nodes(stage.admin_address) if stage.options["reconcile"] else Asked([], [])
    stage.run_first("usage", {name: stage.options[name] for name in ("topic", "gaps")})
    stage.progress.step("pricing")
    computing = Computing(stage.spark, UsageTables(stage.lake).lines)
    reached = computing.reached()
    plan = planned(computing.months(), closed, stage.now_ms, stage.options["grace_hours"] * HOUR_MS)
    count = 0
    for period in [*plan.close, *plan.draft]:
        is_over = period in plan.close
        # A line cannot be late for a month that is not closed yet.
        begin = reached if period in plan.draft[1:] else _end_of_last(closed, period)
        made = computing.invoices(period, begin, reached, prices, closed)
        closed_ms = stage.now_ms if is_over else 0
        record = _record(stage, period, (begin, reached), prices, made, closed_ms)
        if is_over:
            invoices.close(record, made.charges)
            closed[period] = record
        else:
            invoices.draft(record, made.charges)
        count += len(made.charges)
    stage.progress.step("comparing with the nodes")
    found = _reconciled(stage, computing, asked)
    facts = {
        "closed": ",".join(map(str, plan.close)),
        "drafts": ",".join(map(str, plan.draft)),
        "journals": len(asked.told),
        "differences": len(found),
        "silent_nodes": len(asked.silent),
    }
    return Outcome(count, {stage.options["topic"]: reached}, facts, _told(found))


def backfill(stage: Stage, span: Span) -> Outcome:
    """Recompute drafts, as every run does; refused for closed months."""
    invoices = Invoices(stage.lake.exports("billing"))
    for record in invoices.closed():
        if record.month.start_ms < span.to_ms and span.from_ms < record.month.end_ms:
            raise _closed_for_good(record)
    return run(stage)


def _given_prices(stage: Stage) -> PriceList:
    given: PriceList | None = stage.options["prices"]
    if given is None:
        raise InvalidInput("Bills need a price list. Give it with --option prices=FILE.")
    return given


def _recomputed(
    stage: Stage, invoices: Invoices, closed: dict[Period, Closed], period: Period
) -> Outcome:
    """Recompute a closed month's invoices from the data kept with them and compare; nothing is
    written."""
    record = closed.get(period)
    if record is None:
        raise NotAllowed(
            f"{period} is not closed, so that there is nothing to compute again. Leave out"
            " --option period to bill what is over."
        )
    given: PriceList | None = stage.options["prices"]
    if given is not None and given.digest != record.price_digest:
        raise _closed_for_good(record)
    stage.progress.step(f"computing {period} again")
    computing = Computing(stage.spark, UsageTables(stage.lake).lines)
    prices = parse_price_list(record.prices, f"of {period}")
    made = computing.invoices(period, record.from_offsets, record.to_offsets, prices, closed)
    invoiced = Invoiced(period, record.currency)
    if digest(made.charges, invoiced) != record.charges_digest:
        again = csv_text(focus_rows(made.charges, invoiced))
        raise PipelineError(
            f"The invoices of {period} come out otherwise than when they were closed:"
            f" {_first_difference(invoices.csv_of(period), again)}. Lines were lost or changed in"
            " the table usage_lines; restore it from a copy."
        )
    facts = {"verified": str(period), "owed": _owed(made.owed)}
    return Outcome(len(made.charges), {record.topic: record.to_offsets}, facts)


def _record(
    stage: Stage,
    period: Period,
    between: tuple[Offsets, Offsets],
    prices: PriceList,
    made: Computed,
    closed_ms: int,
) -> Closed:
    return Closed(
        period=str(period),
        closed_ms=closed_ms,
        topic=stage.options["topic"],
        from_offsets=dict(between[0]),
        to_offsets=dict(between[1]),
        currency=prices.currency,
        price_digest=prices.digest,
        prices=prices.text,
        owed={tenant: str(amount) for tenant, amount in made.owed.items()},
        charges=len(made.charges),
        charges_digest=digest(made.charges, Invoiced(period, prices.currency)),
    )


def _end_of_last(closed: dict[Period, Closed], period: Period) -> Offsets:
    """Offsets at which the previous month was closed."""
    before = [month for month in closed if month < period]
    return closed[max(before)].to_offsets if before else {}


def _closed_for_good(record: Closed) -> NotAllowed:
    return NotAllowed(
        f"{record.period} was closed by the offsets {_places(record.to_offsets)} of"
        f" {record.topic}, and a closed month is not opened again. Usage that came later is in the"
        " next month's invoices, as an adjustment."
    )


def _reconciled(stage: Stage, computing: Computing, asked: Asked) -> list[Difference]:
    if not stage.options["reconcile"]:
        return []
    found = differences(asked.told, computing.sums_up_to(asked.told))
    told = Reconciliation(
        stage.now_ms,
        [
            {"node": each.node, "journal": each.journal, "sent_sequence": each.sent_sequence}
            for each in asked.told
        ],
        [str(each) for each in found],
        asked.silent,
    )
    keep_reconciliation(stage.lake, told)
    return found


def _told(found: list[Difference]) -> str | None:
    if not found:
        return None
    named = "; ".join(str(each) for each in found[:DIFFERENCES_NAMED_MAX])
    return (
        f"Nodes have counted otherwise: {named}. `duolog pipeline report billing` lists all"
        f" {len(found)}."
    )


def _first_difference(before: str, after: str) -> str:
    changed = [
        line
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    return changed[0] if changed else "in their order"


def _owed(owed: dict[str, Decimal]) -> str:
    return ", ".join(f"{tenant} {amount}" for tenant, amount in owed.items())


def _places(offsets: Offsets) -> str:
    return ", ".join(f"{partition}:{offset}" for partition, offset in sorted(offsets.items()))
