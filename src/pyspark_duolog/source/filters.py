"""Bounds that the filters of a batch query put on its offsets; Spark re-applies the filters to the
rows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Bounded:
    """Bounds within which all rows lie that can pass the filters."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first_offset: int = 0
    end_offset: int = _OFFSET_MAX
    timestamp_ms_min: int | None = None
    """Lower bound only: a later record of a partition may have an older timestamp."""

    def has(self, topic: str, partition: int) -> bool:
        in_topics = self.topics is None or topic in self.topics
        return in_topics and (self.partitions is None or partition in self.partitions)


def bounded_by(filters: Iterable[Filter]) -> Bounded:
    """Bounds of these filters; filters of other columns or kinds do not narrow them."""
    bounded = Bounded()
    for each in filters:
        match each:
            case EqualTo(("topic",), str(name)):
                bounded = _topics(bounded, (name,))
            case In(("topic",), names):
                bounded = _topics(bounded, names)
            case EqualTo(("partition",), int(index)):
                bounded = _partitions(bounded, (index,))
            case In(("partition",), indexes):
                bounded = _partitions(bounded, indexes)
            case EqualTo(("offset",), int(offset)):
                bounded = _offsets(bounded, offset, offset + 1)
            case GreaterThan(("offset",), int(offset)):
                bounded = _offsets(bounded, offset + 1)
            case GreaterThanOrEqual(("offset",), int(offset)):
                bounded = _offsets(bounded, offset)
            case LessThan(("offset",), int(offset)):
                bounded = _offsets(bounded, 0, offset)
            case LessThanOrEqual(("offset",), int(offset)):
                bounded = _offsets(bounded, 0, offset + 1)
            case (
                EqualTo(("timestamp",), datetime() as moment)
                | GreaterThan(("timestamp",), datetime() as moment)
                | GreaterThanOrEqual(("timestamp",), datetime() as moment)
            ):
                bounded = _not_before(bounded, moment)
    return bounded


def _topics(bounded: Bounded, names: Iterable[Any]) -> Bounded:
    named = frozenset(names)
    return replace(bounded, topics=named if bounded.topics is None else bounded.topics & named)


def _partitions(bounded: Bounded, indexes: Iterable[Any]) -> Bounded:
    named = frozenset(indexes)
    kept = named if bounded.partitions is None else bounded.partitions & named
    return replace(bounded, partitions=kept)


def _offsets(bounded: Bounded, first_offset: int, end_offset: int = _OFFSET_MAX) -> Bounded:
    return replace(
        bounded,
        first_offset=max(bounded.first_offset, first_offset),
        end_offset=min(bounded.end_offset, end_offset),
    )


def _not_before(bounded: Bounded, moment: datetime) -> Bounded:
    # A value without a time zone is a TIMESTAMP_NTZ, which this column is not.
    if moment.tzinfo is None:
        return bounded
    milliseconds = max(0, (moment - _EPOCH) // timedelta(milliseconds=1))
    return replace(bounded, timestamp_ms_min=max(bounded.timestamp_ms_min or 0, milliseconds))
