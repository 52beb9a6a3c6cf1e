"""Values as people read them, and as programs do. Pure."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """Numbers have their thousands apart."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.6g}"
        case Decimal():
            return f"{value:,f}"
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M")
        case _:
            return str(value)


def plain(value: Any) -> Any:
    """As JSON has it: exact numbers and moments as texts."""
    match value:
        case Decimal():
            return f"{value:f}"
        case datetime() | date():
            return value.isoformat()
        case _:
            return value
