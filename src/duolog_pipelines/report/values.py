"""Values formatted for people, and for programs. Pure."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """The value as text for people; numbers have thousands separators."""
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
    """The value for JSON: exact numbers and times become texts."""
    match value:
        case Decimal():
            return f"{value:f}"
        case datetime() | date():
            return value.isoformat()
        case _:
            return value
