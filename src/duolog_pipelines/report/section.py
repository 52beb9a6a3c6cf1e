"""What a pipeline has to report, whatever it is shown on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    """As many values as there are columns: texts, numbers, decimals, None."""
    note: str = ""


@dataclass(frozen=True)
class Chart:
    title: str
    kind: Literal["bars", "lines"]
    labels: Sequence[str]
    """Along the x axis."""
    series: Mapping[str, Sequence[float]]
    """By name, a value for each label."""
    unit: str = ""


@dataclass(frozen=True)
class Section:
    heading: str
    text: str = ""
    """A sentence or two, in plain text."""
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
