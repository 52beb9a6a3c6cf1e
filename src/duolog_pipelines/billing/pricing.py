"""What usage costs, exactly. Pure.

Quantities and prices are multiplied as fractions, and rounded once, far behind the cent; an
invoice is the sum of its charges, rounded to what can be paid by a charge of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Literal, NamedTuple

from duolog_pipelines.billing.meters import Meter
from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.price_list import Price, Prices

PLACES = 12
"""Digits behind the point that costs and quantities of a charge have."""
_STEP = Decimal(1).scaleb(-PLACES)
_DIGITS_MAX = 38

Category = Literal["Usage", "Credit", "Adjustment"]


class Subject(NamedTuple):
    tenant: str
    kind: str
    resource: str
    operation: str


Used = Mapping[Subject, Mapping[str, int]]
"""What a period has of each field that a line counts."""


@dataclass(frozen=True)
class Charge:
    tenant: str
    category: Category
    charge_period: Period
    """When it was used."""
    kind: str | None
    resource: str | None
    """None of both for what is the whole tenant's: free quantities, roundings."""
    price: Price | None
    """None for a rounding."""
    quantity: Decimal
    """Of what is consumed."""
    cost: Decimal
    description: str

    @property
    def order(self) -> tuple[str, ...]:
        """One order always, so that the same invoice is the same file."""
        sku = self.price.sku if self.price else "~"
        return (
            self.tenant,
            str(self.charge_period),
            self.category,
            self.kind or "",
            self.resource or "",
            sku,
        )


def charges(period: Period, used: Used, prices: Prices) -> list[Charge]:
    """For everything that has a price, and the free quantities that are taken off again."""
    made = []
    totals: dict[tuple[str, Price], Fraction] = defaultdict(Fraction)
    for subject, counts in used.items():
        for price in prices.by_operation.get(subject.operation, ()):
            quantity = _consumed(price.meter, counts.get(price.meter.counted, 0), period)
            if not quantity:
                continue
            totals[subject.tenant, price] += quantity
            made.append(
                Charge(
                    subject.tenant,
                    "Usage",
                    period,
                    subject.kind,
                    subject.resource,
                    price,
                    _rounded(quantity),
                    _rounded(_cost(price, quantity)),
                    f"{price.meter.unit} of {subject.operation}, {subject.kind} {subject.resource}",
                )
            )
    for (tenant, price), quantity in totals.items():
        free = min(quantity, Fraction(price.free))
        if free:
            made.append(
                Charge(
                    tenant,
                    "Credit",
                    period,
                    None,
                    None,
                    price,
                    -_rounded(free),
                    -_rounded(_cost(price, free)),
                    f"Free {price.meter.unit} of {price.operation}",
                )
            )
    return sorted(made, key=lambda charge: charge.order)


def adjustments(period: Period, before: Used, late: Used, prices: Prices) -> list[Charge]:
    """What late usage changes in a period that was billed already, by the prices of then."""
    old = {_key(charge): charge for charge in charges(period, before, prices)}
    new = {_key(charge): charge for charge in charges(period, merged(before, late), prices)}
    made = []
    for key, charge in new.items():
        billed = old.get(key)
        quantity = charge.quantity - (billed.quantity if billed else 0)
        cost = charge.cost - (billed.cost if billed else 0)
        if quantity or cost:
            made.append(
                replace(
                    charge,
                    category="Adjustment",
                    quantity=quantity,
                    cost=cost,
                    description=f"Late for {period}: {charge.description}",
                )
            )
    return sorted(made, key=lambda charge: charge.order)


def with_roundings(
    made: Iterable[Charge], period: Period, currency: str, decimals: int
) -> tuple[list[Charge], dict[str, Decimal]]:
    """The charges, with one more for each tenant whose sum cannot be paid; and what is owed."""
    every = list(made)
    exact: dict[str, Decimal] = defaultdict(Decimal)
    with localcontext(prec=_DIGITS_MAX):
        for charge in every:
            exact[charge.tenant] += charge.cost
        cent = Decimal(1).scaleb(-decimals)
        owed = {tenant: cost.quantize(cent, ROUND_HALF_UP) for tenant, cost in exact.items()}
        every += [
            Charge(
                tenant,
                "Adjustment",
                period,
                None,
                None,
                None,
                Decimal(0),
                (owed[tenant] - cost).quantize(_STEP),
                f"Rounding to {cent} {currency}",
            )
            for tenant, cost in exact.items()
            if owed[tenant] != cost
        ]
    return sorted(every, key=lambda charge: charge.order), dict(sorted(owed.items()))


def merged(one: Used, other: Used) -> dict[Subject, dict[str, int]]:
    """The sums of both."""
    sums = {subject: dict(counts) for subject, counts in one.items()}
    for subject, counts in other.items():
        mine = sums.setdefault(subject, {})
        for name, count in counts.items():
            mine[name] = mine.get(name, 0) + count
    return sums


def _consumed(meter: Meter, count: int, period: Period) -> Fraction:
    """A GB-month is a GB for as long as that month is."""
    size = meter.unit_size * (period.seconds if meter.by_month else 1)
    return Fraction(count, size)


def _cost(price: Price, quantity: Fraction) -> Fraction:
    return quantity / price.meter.pricing_size * Fraction(price.amount)


def _rounded(value: Fraction) -> Decimal:
    with localcontext(prec=2 * _DIGITS_MAX):
        return (Decimal(value.numerator) / Decimal(value.denominator)).quantize(
            _STEP, ROUND_HALF_EVEN
        )


def _key(charge: Charge) -> tuple[object, ...]:
    return charge.tenant, charge.category, charge.kind, charge.resource, charge.price
