"""Prices usage exactly. Pure.

Quantities and prices are multiplied as fractions and rounded once, to PLACES digits; an invoice is
the sum of its charges, rounded to what can be paid by a charge of its own.
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
"""Decimals of the cost and the quantity of a charge."""
_STEP = Decimal(1).scaleb(-PLACES)
_DIGITS_MAX = 38

Category = Literal["Usage", "Credit", "Adjustment"]


class Subject(NamedTuple):
    tenant: str
    kind: str
    resource: str
    operation: str


Used = Mapping[Subject, Mapping[str, int]]
"""Usage of a period: by subject, the sum of each counted field."""


@dataclass(frozen=True)
class Charge:
    tenant: str
    category: Category
    charge_period: Period
    """Month of the usage."""
    kind: str | None
    resource: str | None
    """None, as is `kind`, for a charge to the whole tenant: free quantities, roundings."""
    price: Price | None
    """None for a rounding."""
    quantity: Decimal
    """Quantity in the meter's unit of consumption."""
    cost: Decimal
    description: str

    @property
    def order(self) -> tuple[str, ...]:
        """Sort key; one fixed order makes equal invoices equal files."""
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
    """Charges for all priced usage, and credits for the free quantities in it."""
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
    """Charges for late usage of a period billed before, at the prices of then."""
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
    """The charges, plus a rounding for each tenant whose sum is not payable; and the amounts
    owed."""
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
    """Sums of both usages."""
    sums = {subject: dict(counts) for subject, counts in one.items()}
    for subject, counts in other.items():
        mine = sums.setdefault(subject, {})
        for name, count in counts.items():
            mine[name] = mine.get(name, 0) + count
    return sums


def _consumed(meter: Meter, count: int, period: Period) -> Fraction:
    """Counted amount in units of consumption; a GB-month is a GB for as long as that month is."""
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
