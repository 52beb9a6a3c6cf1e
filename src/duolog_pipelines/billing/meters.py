"""What is measured and can have a price. Pure."""

from typing import NamedTuple

GB = 1_000_000_000
MILLION = 1_000_000


class Meter(NamedTuple):
    name: str
    counted: str
    """The field of a usage line that it counts."""
    price_key: str
    """As a price list has it."""
    free_key: str
    unit: str
    """What is consumed."""
    unit_size: int
    """How much of the count is one of those."""
    pricing_unit: str
    """What the price is for."""
    pricing_size: int
    """How many of what is consumed that is."""
    by_month: bool = False
    """Whether it is counted per second, and priced per month."""


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
