"""A line of the result: one workload, our figures and what they are held against. Pure."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.samples import Figures

Headline = Literal[
    "mb_per_s",
    "messages_per_s",
    "requests_per_s",
    "cpu_us_per_request",
    "p50_us",
    "p99_us",
    "seconds",
    "rss_mb",
]

FAILED = "failed: "


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    """Stable name, which goals refer to."""
    title: str
    headline: Headline
    """The figure that this workload is about."""
    ours: Figures | None
    """None when the workload was skipped; the note says why."""
    floor: Figures | None = None
    floor_name: str = ""
    note: str = ""

    @property
    def failed(self) -> bool:
        return self.note.startswith(FAILED)

    @property
    def ratio(self) -> float | None:
        """Our headline figure over the floor's."""
        return self.ratio_of(self.headline)

    def ratio_of(self, name: str) -> float | None:
        ours, floor = self.of_ours(name), self.of_floor(name)
        return ours / floor if ours is not None and floor else None

    def of_ours(self, name: str) -> float | None:
        return _figure(self.ours, name)

    def of_floor(self, name: str) -> float | None:
        return _figure(self.floor, name)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> "Row":
        ours, floor = fields["ours"], fields["floor"]
        return Row(
            key=fields["key"],
            title=fields["title"],
            headline=fields["headline"],
            ours=Figures(**ours) if ours else None,
            floor=Figures(**floor) if floor else None,
            floor_name=fields["floor_name"],
            note=fields["note"],
        )


def failed(group: str, why: str) -> Row:
    """Stands for the rows that a group of workloads did not get to."""
    return Row(group, group, "seconds", ours=None, note=FAILED + why)


def skipped(key: str, title: str, headline: Headline, why: str) -> Row:
    return Row(key, title, headline, ours=None, note=why)


def _figure(figures: Figures | None, name: str) -> float | None:
    value = getattr(figures, name) if figures else None
    assert value is None or isinstance(value, float | int)
    return value
