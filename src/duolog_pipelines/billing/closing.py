"""Which months are closed, and with which offsets. Pure.

A month's invoices are made of the lines of that month below the offsets at which it was closed,
and of lines of earlier months that lie between the offsets at which the month before was closed
and these: those came too late for their own.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from duolog_pipelines.billing.period import Period

Offsets = Mapping[int, int]
"""By partition of the topic of lines: the first that is not part of it."""


class Closed(msgspec.Struct, frozen=True):
    """What is kept with the invoices of a month: everything that they were computed from."""

    period: str
    closed_ms: int
    topic: str
    from_offsets: dict[int, int]
    """Where the month before was closed; lines of earlier months from here on are late."""
    to_offsets: dict[int, int]
    currency: str
    price_digest: str
    prices: str
    """The whole price list, as it was written."""
    owed: dict[str, str]
    """By tenant."""
    charges: int
    charges_digest: str
    """Of the CSV."""

    @property
    def month(self) -> Period:
        return Period.parse(self.period)


class Plan(NamedTuple):
    close: list[Period]
    """One after the other; a month without usage, too, so that none is left out."""
    draft: list[Period]
    """Not over, or not for long enough: their invoices may still change."""


def planned(months: Iterable[Period], closed: Iterable[Period], now_ms: int, grace_ms: int) -> Plan:
    """What is to be done, by which months have usage and which are closed already."""
    used, done = sorted(months), sorted(closed)
    if not used and not done:
        return Plan([], [])
    each = done[-1].next if done else used[0]
    plan = Plan([], [])
    while each.start_ms <= now_ms or (used and each <= used[-1]):
        is_over = each.end_ms + grace_ms <= now_ms
        (plan.close if is_over else plan.draft).append(each)
        each = each.next
    return plan
