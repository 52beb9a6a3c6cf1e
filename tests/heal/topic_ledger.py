"""What was acknowledged to producers of a topic, compared with what is in it.

A numbered record is one of an idempotent producer: each partition holds 0, 1, 2, … once and in
order. A probe comes from a producer that is not idempotent and gives up early: each acknowledged
one is there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

PROBE = b"probe/"


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


def judge_partition(keys: Sequence[bytes], acknowledged: int, probes: Iterable[bytes]) -> Findings:
    """`keys`: of all records, in the order of the log. `acknowledged`: so many numbers were.
    `probes`: keys of those that were."""
    found = Findings()
    seen: set[int] = set()
    highest = -1
    for key in keys:
        if key.startswith(PROBE):
            continue
        number = int(key)
        if number in seen:
            found.doubled += 1
            found.examples.append(f"{number} is there twice")
        elif number < highest:
            found.out_of_order += 1
            found.examples.append(f"{number} comes after {highest}")
        seen.add(number)
        highest = max(highest, number)
    missing = [number for number in range(acknowledged) if number not in seen]
    missing_probes = set(probes) - set(keys)
    found.lost = len(missing) + len(missing_probes)
    found.examples += [f"{each!r} is lost" for each in [*missing[:3], *sorted(missing_probes)[:3]]]
    return found
