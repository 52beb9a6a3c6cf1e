"""What is printed: a line for each round, a table, and which goals were reached."""

from collections.abc import Sequence
from itertools import islice
from statistics import median

from tests.heal.goals import goals, rolling_silences
from tests.heal.outcome import Outcome

HEAD = (
    *("mode", "fault", "rounds", "median s", "worst s", "back s", "leases lost"),
    *("acknowledged", "lost", "doubled", "disorder", "CPU s", "turn ms", "waited"),
)
EXAMPLES_MAX = 5
SURPRISING_SECONDS = 2.0
"""After a longer gap it is said what clients were told meanwhile."""


def round_lines(number: int, rounds: int, outcome: Outcome) -> list[str]:
    """How one round went."""
    name = f"{outcome.mode} {outcome.fault} {number}/{rounds}"
    if outcome.skipped:
        return [f"{name}: skipped: {outcome.skipped}"]
    served = "NOT SERVED" if outcome.gap is None else f"served after {outcome.gap:.2f} s"
    parts = [f"{name}: {outcome.what}: {served} (last: {outcome.last})"]
    if outcome.back is not None:
        parts.append(f"longest silence afterwards {outcome.back}")
    if outcome.cpu is not None:
        parts.append(f"CPU {outcome.cpu:.2f} s")
    parts.append(f"waited for CPU {outcome.delay_share:.0%}")
    if outcome.long_turns:
        parts.append(f"{outcome.long_turns} long turns")
    parts.append(
        f"{outcome.acknowledged} acknowledged, {outcome.findings.lost} lost,"
        f" {outcome.findings.doubled} doubled, {outcome.findings.out_of_order} out of order"
    )
    lines = ["; ".join(parts)]
    lines += [f"    {lease}" for lease in outcome.leases]
    lines += [
        f"    node {node} was suspended {count} times"
        for node, count in outcome.suspensions.items()
        if count
    ]
    for number, node in enumerate(outcome.silences, 1):
        told = ", ".join(str(each) for each in sorted(node.values(), reverse=True))
        lines.append(f"    node {number}: longest without an answer: {told}")
    lines += [f"    long turn: {each}" for each in outcome.stacks[:EXAMPLES_MAX]]
    if outcome.gap is None or outcome.gap > SURPRISING_SECONDS:
        lines += [
            f"    {count} times: {told}" for told, count in islice(outcome.refusals.items(), 6)
        ]
    lines += [f"    BROKEN: {each}" for each in outcome.findings.examples[:EXAMPLES_MAX]]
    lines += [f"    PROBLEM: {each}" for each in outcome.problems]
    if outcome.is_repeated:
        lines.append("    the machine was not idle: repeated")
    return lines


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """A row for each fault of each mode."""
    rows = [HEAD]
    for mode, fault in dict.fromkeys((each.mode, each.fault) for each in outcomes):
        rows.append(_row(mode, fault, _of(outcomes, mode, fault)))
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    return [
        "  ".join(
            text.ljust(width) if at < 2 else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def goal_lines(outcomes: Sequence[Outcome]) -> list[str]:
    return [
        f"{mode} {fault}: {'reached' if goal.is_reached else 'MISSED'}: {goal.text}"
        for mode, fault in dict.fromkeys((each.mode, each.fault) for each in outcomes)
        for goal in goals(mode, fault, _counted(_of(outcomes, mode, fault)))
    ]


def _of(outcomes: Sequence[Outcome], mode: str, fault: str) -> list[Outcome]:
    return [each for each in outcomes if (each.mode, each.fault) == (mode, fault)]


def _counted(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [each for each in outcomes if not each.is_repeated and not each.skipped]


def _row(mode: str, fault: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    had = [each for each in outcomes if not each.skipped]
    if not had:
        return (mode, fault, "skipped", *[""] * (len(HEAD) - 3))
    # Where the machine was never idle, its rounds are shown, and said to be none that count.
    counted = _counted(outcomes) or had
    gaps = [each.gap for each in counted]
    served = [each for each in gaps if each is not None]
    is_served = len(served) == len(gaps)
    # A gap that nobody saw the end of is longer than all others.
    ranked = sorted(each if each is not None else float("inf") for each in gaps)
    silences = rolling_silences(counted)
    backs = [each.back.seconds for each in counted if each.back is not None]
    used = [each.cpu for each in counted if each.cpu is not None]
    turns = sum(each.long_turns for each in counted)
    longest = [each.longest_turn for each in counted if each.longest_turn is not None]
    # Of what was broken all rounds count, whether the machine was idle or not.
    findings = [each.findings for each in outcomes]
    return (
        mode,
        fault,
        str(len(counted)) if _counted(outcomes) else f"0 ({len(had)} not idle)",
        _seconds(median(silences or ranked)),
        _seconds(max(served)) if is_served else "not served",
        _seconds(max(backs)) if backs else "-",
        _losses(counted),
        str(sum(each.acknowledged for each in outcomes)),
        str(sum(each.lost for each in findings)),
        str(sum(each.doubled for each in findings)),
        str(sum(each.out_of_order for each in findings)),
        f"{median(used):.1f}, {max(used):.1f}" if used else "-",
        f"{max(longest) * 1000:.0f}" if longest else (f"{turns} > 50" if turns else "< 50"),
        f"{max(each.delay_share for each in counted):.0%}",
    )


def _seconds(value: float) -> str:
    return "none" if value == float("inf") else f"{value:.1f}"


def _losses(outcomes: Sequence[Outcome]) -> str:
    """Leases lost by nodes that were hurt, and by others."""
    leases = [lease for each in outcomes for lease in each.leases]
    hurt = sum(lease.was_hurt for lease in leases)
    others = [f"n{lease.node}" for lease in leases if not lease.was_hurt]
    told = [f"{hurt} hurt"] if hurt else []
    told += [f"{others.count(each)} {each}" for each in sorted(set(others))]
    return ", ".join(told) or "0"
