"""Contents of a report, independent of how it is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    """Rows with one value for each column: texts, numbers, decimals, None."""
    note: str = ""


@dataclass(frozen=True)
class Chart:
    title: str
    kind: Literal["bars", "lines"]
    labels: Sequence[str]
    """Labels along the x axis."""
    series: Mapping[str, Sequence[float]]
    """Values by name of the series, one for each label."""
    unit: str = ""


@dataclass(frozen=True)
class Section:
    heading: str
    text: str = ""
    """A sentence or two, in plain text."""
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
