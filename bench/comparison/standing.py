"""What a comparison measured, and of whom. Pure."""

from dataclasses import asdict, dataclass, field
from typing import Any

from bench.samples import Figures

MEMORY, PAGE_CACHE, ON_DISK = "its memory", "page cache", "disk"


@dataclass(frozen=True, slots=True)
class Contestant:
    """One server in one configuration."""

    name: str
    version: str
    durability: str
    """Where a message is once it is acknowledged: in memory, in the page cache, or on disk."""
    configuration: str
    client: str
    """What drove it."""

    @property
    def is_ours(self) -> bool:
        return self.name.startswith("Duolog")


@dataclass(frozen=True, slots=True)
class Standing:
    """The medians of one contestant's rounds under one load."""

    load: str
    contestant: str
    figures: Figures
    warm_up: int
    """Rounds that were not counted."""
    settled: bool
    """Whether the last two of these differed by less than the bound."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A contestant that took no part, or gave up."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """All contestants that were alive at the same time, and took turns."""

    group: str
    date: str
    took_seconds: float
    rounds: int
    contestants: list[Contestant]
    standings: list[Standing]
    absent: list[Absent] = field(default_factory=list)

    @property
    def loads(self) -> list[str]:
        """In the order in which they were measured."""
        return list(dict.fromkeys(standing.load for standing in self.standings))

    def figures(self, load: str, contestant: str) -> Figures | None:
        for standing in self.standings:
            if (standing.load, standing.contestant) == (load, contestant):
                return standing.figures
        return None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> "Comparison":
        standings = [
            Standing(**{**standing, "figures": Figures(**standing["figures"])})
            for standing in fields["standings"]
        ]
        return Comparison(
            **{
                **fields,
                "contestants": [Contestant(**each) for each in fields["contestants"]],
                "standings": standings,
                "absent": [Absent(**each) for each in fields["absent"]],
            }
        )
