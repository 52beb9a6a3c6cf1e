"""Closing of months, each by the offsets up to which usage was billed. Pure.

A month's invoices are made of its own lines below the offsets at which it was closed, and of late
lines of earlier months: those between the offsets at which the previous month was closed and its
own.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from duolog_pipelines.billing.period import Period

Offsets = Mapping[int, int]
"""End offset of the lines that count (excluded), by partition of the topic of lines."""


class Closed(msgspec.Struct, frozen=True):
    """Record kept with a month's invoices: everything that they were computed from."""

    period: str
    closed_ms: int
    topic: str
    from_offsets: dict[int, int]
    """Offsets at which the previous month was closed; lines of earlier months from here on are
    late."""
    to_offsets: dict[int, int]
    currency: str
    price_digest: str
    prices: str
    """The whole price list, as it was written."""
    owed: dict[str, str]
    """Amount owed, by tenant."""
    charges: int
    charges_digest: str
    """Digest of the CSV file."""

    @property
    def month(self) -> Period:
        return Period.parse(self.period)


class Plan(NamedTuple):
    close: list[Period]
    """Months to close, consecutive; also one without usage, so that none is left out."""
    draft: list[Period]
    """Months that are not over, or not for long enough: their invoices may still change."""


def planned(months: Iterable[Period], closed: Iterable[Period], now_ms: int, grace_ms: int) -> Plan:
    """Split the months since the last closed one into those to close and those to draft."""
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
