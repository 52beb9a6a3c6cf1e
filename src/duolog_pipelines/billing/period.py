"""Billing periods, which are months. Pure."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

_WRITTEN = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


class Period(NamedTuple):
    """A month in UTC; months compare in their chronological order."""

    year: int
    month: int

    @classmethod
    def parse(cls, text: str) -> "Period":
        """Parse a month such as `2026-10`. The text of its ValueError continues a sentence after
        the value."""
        matched = _WRITTEN.fullmatch(text)
        if matched is None:
            raise ValueError("is no month of the form YYYY-MM")
        return cls(int(matched[1]), int(matched[2]))

    @classmethod
    def at(cls, time_ms: int) -> "Period":
        moment = datetime.fromtimestamp(time_ms / 1000, UTC)
        return cls(moment.year, moment.month)

    @property
    def next(self) -> "Period":
        return Period(self.year + self.month // 12, self.month % 12 + 1)

    @property
    def start(self) -> datetime:
        return datetime(self.year, self.month, 1, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """Start of the next month."""
        return self.next.start

    @property
    def start_ms(self) -> int:
        return round(self.start.timestamp() * 1000)

    @property
    def end_ms(self) -> int:
        return self.next.start_ms

    @property
    def seconds(self) -> int:
        return (self.end_ms - self.start_ms) // 1000

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"
