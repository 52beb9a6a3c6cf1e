"""The goals for healing, and whether rounds reach them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.heal.outcome import Outcome

ROLLING = "rolling"
CPU_SECONDS_MAX = 1.5
ROLLING_MEDIAN_SECONDS = 1.0
ROLLING_WORST_SECONDS = 3.0
WORST_SECONDS = {"idle": 10.0, "busy": 15.0}
MEDIAN_SECONDS = {
    "idle": {"kill": 2.0, "freeze": 4.0, "one-way": 6.0, "two-way": 6.0},
    "busy": {"kill": 5.0, "freeze": 7.0, "one-way": 9.0, "two-way": 9.0},
}


@dataclass(frozen=True)
class Goal:
    text: str
    is_reached: bool


def goals(mode: str, fault: str, outcomes: Sequence[Outcome]) -> list[Goal]:
    """Those that there are for these rounds of one fault."""
    if not outcomes:
        return []
    if fault == ROLLING:
        return _rolling_goals(mode, outcomes)
    gaps = [each.gap for each in outcomes if each.gap is not None]
    all_served = len(gaps) == len(outcomes)
    found = []
    if (most := MEDIAN_SECONDS.get(mode, {}).get(fault)) is not None:
        found.append(_at_most("median", median(gaps) if all_served else None, most, "s"))
    if (most := WORST_SECONDS.get(mode)) is not None:
        found.append(_at_most("worst", max(gaps) if all_served else None, most, "s"))
    used = [each.cpu for each in outcomes if each.cpu is not None]
    if used:
        found.append(_at_most("CPU", max(used), CPU_SECONDS_MAX, "s"))
    turns = sum(each.long_turns for each in outcomes)
    found.append(Goal(f"{turns} turns over 50 ms of CPU (none)", turns == 0))
    losses = [lease for each in outcomes for lease in each.leases if not lease.is_excused]
    found.append(Goal(f"{len(losses)} leases lost without a reason (none)", not losses))
    return found


def rolling_silences(outcomes: Sequence[Outcome]) -> list[float]:
    """Seconds without an answer, of each kind of client while each node was restarted."""
    return [
        each.seconds for outcome in outcomes for node in outcome.silences for each in node.values()
    ]


def _rolling_goals(mode: str, outcomes: Sequence[Outcome]) -> list[Goal]:
    silences = rolling_silences(outcomes)
    if mode != "idle" or not silences:
        return []
    return [
        _at_most("median of kinds and nodes", median(silences), ROLLING_MEDIAN_SECONDS, "s"),
        _at_most("worst", max(silences), ROLLING_WORST_SECONDS, "s"),
    ]


def _at_most(name: str, found: float | None, most: float, unit: str) -> Goal:
    if found is None:
        return Goal(f"{name} not served (at most {most:g} {unit})", False)
    return Goal(f"{name} {found:.1f} {unit} (at most {most:g} {unit})", found <= most)
