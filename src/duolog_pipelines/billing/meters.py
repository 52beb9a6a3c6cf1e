"""Meters: the quantities that are measured and can have a price. Pure."""

from typing import NamedTuple

GB = 1_000_000_000
MILLION = 1_000_000


class Meter(NamedTuple):
    name: str
    counted: str
    """Field of a usage line that it counts."""
    price_key: str
    """Key of the price in a price list."""
    free_key: str
    unit: str
    """Unit of consumption, such as GB."""
    unit_size: int
    """Counted amount that makes one unit."""
    pricing_unit: str
    """Unit that the price is for, such as 1M Requests."""
    pricing_size: int
    """Units of consumption in one pricing unit."""
    by_month: bool = False
    """True if it is counted per second but priced per month."""


METERS = (
    Meter(
        "requests",
        "requests",
        "per_million_requests",
        "free_requests",
        "Requests",
        1,
        "1M Requests",
        MILLION,
    ),
    Meter(
        "messages",
        "messages",
        "per_million_messages",
        "free_messages",
        "Messages",
        1,
        "1M Messages",
        MILLION,
    ),
    Meter("transfer", "bytes", "per_gb", "free_gb", "GB", GB, "GB", 1),
    Meter(
        "storage",
        "byte_seconds",
        "per_gb_month",
        "free_gb_months",
        "GB-Months",
        GB,
        "GB-Months",
        1,
        by_month=True,
    ),
)
BY_PRICE_KEY = {meter.price_key: meter for meter in METERS}
BY_FREE_KEY = {meter.free_key: meter for meter in METERS}
