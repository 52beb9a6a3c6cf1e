"""What was acknowledged to producers of a topic, compared with what is in it.

A numbered record is one of an idempotent producer: each partition holds 0, 1, 2, … once and in
order. A probe comes from a producer that is not idempotent and gives up early: each acknowledged
one is there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

PROBE = b"probe/"
EXAMPLES_MAX = 5
"""Lost records that are named."""


@dataclass
class Findings:
    """Promises that were broken, and how often."""

    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    examples: list[str] = field(default_factory=list)

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.out_of_order + other.out_of_order,
            self.examples + other.examples,
        )

    @property
    def total(self) -> int:
        return self.lost + self.doubled + self.out_of_order


class Stored(NamedTuple):
    """A record as a reader finds it."""

    offset: int
    key: bytes


def judge_partition(
    name: str, stored: Sequence[Stored], acknowledged: int, probes: Iterable[bytes]
) -> Findings:
    """`stored`: all records, in the order of the log. `acknowledged`: so many numbers were.
    `probes`: keys of those that were."""
    found = Findings()
    seen: dict[int, int] = {}
    highest = -1
    for offset, key in stored:
        if key.startswith(PROBE):
            continue
        number = int(key)
        if number in seen:
            found.doubled += 1
            found.examples.append(f"{name}: {number} is at {seen[number]} and at {offset}")
        elif number < highest:
            found.out_of_order += 1
            found.examples.append(f"{name}: {number} comes after {highest} at {offset}")
        seen.setdefault(number, offset)
        highest = max(highest, number)
    missing = [str(number) for number in range(acknowledged) if number not in seen]
    missing += sorted(key.decode() for key in set(probes) - {each.key for each in stored})
    found.lost = len(missing)
    found.examples += [f"{name}: {each} is lost" for each in missing[:EXAMPLES_MAX]]
    return found
