"""The page's tables. Pure."""

from collections.abc import Sequence

from bench.cells import number
from bench.comparison.standing import Comparison, Contestant
from bench.page.loads import cpu_us, is_kept, milliseconds, rate
from bench.samples import Figures


def table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (headings, rule, *lines))


def texts(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(headings)
    return "\n".join("| " + " | ".join(line) + " |" for line in (headings, rule, *lines))


def speeds(comparison: Comparison, loads: Sequence[tuple[str, str]], *, memory: str = "") -> str:
    """For each load: messages a second, and the server's CPU for each; `memory`: the load after
    which resident memory was looked at."""
    headings = ["server"]
    for _, heading in loads:
        headings += [heading, "CPU us"]
    headings += ["memory, MB"] if memory else []
    lines = []
    for contestant in comparison.contestants:
        line = [_name(contestant)]
        for load, _ in loads:
            figures = comparison.figures(load, contestant.name)
            line += [number(rate(figures)), number(cpu_us(figures))]
        if memory:
            figures = comparison.figures(memory, contestant.name)
            line.append(number(figures.rss_mb) if figures else "")
        lines.append(line)
    return table(headings, lines)


def latencies(comparison: Comparison, loads: Sequence[tuple[str, str]]) -> str:
    """p50 and p99 in milliseconds, and the server's CPU for each message."""
    headings = ["server"]
    for _, heading in loads:
        headings += [f"{heading}: p50, ms", "p99, ms", "CPU us"]
    lines = []
    for contestant in comparison.contestants:
        line = [_name(contestant)]
        for load, _ in loads:
            line += _latency(load, comparison.figures(load, contestant.name))
        lines.append(line)
    return table(headings, lines)


def _latency(load: str, figures: Figures | None) -> list[str]:
    if figures is None:
        return ["", "", ""]
    behind = "" if is_kept(load, figures) else f" ({number(rate(figures))}/s)"
    p50, p99 = milliseconds(figures.p50_us), milliseconds(figures.p99_us)
    return [p50 + behind, p99, number(cpu_us(figures))]


def contestants(comparison: Comparison) -> str:
    lines = [
        [
            _name(each),
            each.version,
            each.durability,
            each.configuration,
            each.client,
            _warm_up(comparison, each),
        ]
        for each in comparison.contestants
    ]
    return texts(
        ["server", "version", "acknowledged from", "configuration", "client", "warm-up rounds"],
        lines,
    )


def _warm_up(comparison: Comparison, contestant: Contestant) -> str:
    standings = [each for each in comparison.standings if each.contestant == contestant.name]
    if not standings:
        return ""
    counts = sorted({each.warm_up for each in standings})
    span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    settled = sum(each.settled for each in standings)
    return f"{span}; settled in {settled} of {len(standings)} loads"


def absent(comparison: Comparison) -> str:
    if not comparison.absent:
        return ""
    return "Left out: " + "; ".join(f"{each.name} ({each.why})" for each in comparison.absent) + "."


def _name(contestant: Contestant) -> str:
    return f"**{contestant.name}**" if contestant.is_ours else contestant.name
