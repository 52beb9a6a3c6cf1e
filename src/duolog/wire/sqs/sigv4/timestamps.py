"""Times of signing, in either of the two formats of requests."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

_BASIC = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", re.ASCII)
_HTTP = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|[+-]0000)",
    re.ASCII,
)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(NamedTuple):
    basic: str
    """Time as YYYYMMDD'T'HHMMSS'Z', the form in which it is signed."""
    ms: int


def parse_moment(text: str) -> Moment | None:
    """Parses a time in either format; None if it is not one."""
    found = _BASIC.fullmatch(text)
    if found is None:
        text = _to_basic(text)
        found = _BASIC.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    since = moment - _EPOCH
    return Moment(text, (since.days * 86_400 + since.seconds) * 1_000)


def moment_at(ms: int) -> Moment:
    return Moment(f"{datetime.fromtimestamp(ms // 1_000, UTC):%Y%m%dT%H%M%SZ}", ms)


def _to_basic(http_date: str) -> str:
    found = _HTTP.fullmatch(http_date)
    if found is None or found[2] not in _MONTHS:
        return ""
    day, month, year, hour, minute, second = found.groups()
    return f"{year}{_MONTHS.index(month) + 1:02}{day}T{hour}{minute}{second}Z"
