from typing import Literal

import pytest
from bench.goal import Goal, against_floor, between, flat, ours
from bench.goals import GOALS, judge
from bench.rows import Row, skipped
from bench.samples import Figures


def row(key: str, mine: Figures, floor: Figures | None = None) -> Row:
    return Row(key, key, "mb_per_s", mine, floor)


def test_a_ceiling_passes_at_its_limit_and_fails_above() -> None:
    goal = Goal("p99", 1000, "us", ours("a", "p99_us"))
    assert judge([row("a", Figures(p99_us=1000))], [goal])[0].passed is True
    assert judge([row("a", Figures(p99_us=1001))], [goal])[0].passed is False


def test_a_lower_bound_fails_below_its_limit() -> None:
    goal = Goal("speed", 0.7, "x", between("b", "a", "mb_per_s"), at_least=True)
    base = row("a", Figures(mb_per_s=100))
    assert judge([base, row("b", Figures(mb_per_s=70))], [goal])[0].passed is True
    assert judge([base, row("b", Figures(mb_per_s=69))], [goal])[0].passed is False


def test_a_ratio_to_the_floor_is_of_the_same_row() -> None:
    goal = Goal("CPU", 1.5, "x", against_floor("a", "cpu_ms_per_mb"))
    measured = row("a", Figures(cpu_ms_per_mb=0.6), Figures(cpu_ms_per_mb=0.4))
    verdict = judge([measured], [goal])[0]
    assert verdict.measured == pytest.approx(1.5)


def test_a_broker_cheaper_than_the_floor_is_a_disturbed_run_not_a_pass() -> None:
    disturbed = row("produce/1MB/1p", Figures(cpu_ms_per_mb=0.75), Figures(cpu_ms_per_mb=3.1))
    verdict = judge([disturbed])[0]
    assert verdict.measured == pytest.approx(0.242, rel=0.01)
    assert verdict.passed is None
    assert verdict.void


@pytest.mark.parametrize(
    ("p99_us", "others_cores", "noise", "passed"),
    [
        (900, 0.1, "harms", True),
        (1100, 0.1, "harms", False),
        (900, 0.9, "harms", True),
        (1100, 0.9, "harms", None),
        (900, 0.9, "blurs", None),
    ],
)
def test_a_clock_is_not_believed_while_others_use_the_machine(
    p99_us: float, others_cores: float, noise: Literal["harms", "blurs"], passed: bool | None
) -> None:
    goal = Goal("p99", 1000, "us", ours("a", "p99_us"), clocked=("a",), noise=noise)
    measured = row("a", Figures(p99_us=p99_us, others_cores=others_cores))
    assert judge([measured], [goal])[0].passed is passed


def test_what_a_run_left_out_is_neither_passed_nor_failed() -> None:
    rows = [skipped(key, key, "mb_per_s", "not installed") for key in ("fsync/1KB/fsync", "x")]
    assert {verdict.passed for verdict in judge(rows)} == {None}
    assert len(judge(rows)) == len(GOALS)


def test_a_small_backlog_says_nothing_about_a_large_one() -> None:
    def passed(stored_gb: float) -> set[bool | None]:
        started = row("backlog/start", Figures(seconds=1.0, stored_gb=stored_gb))
        return {verdict.passed for verdict in judge([started])}

    assert passed(stored_gb=1.0) == {None}
    assert passed(stored_gb=10.1) == {None, True}


def test_a_missing_floor_judges_nothing() -> None:
    measured = row("produce/1MB/1p", Figures(cpu_ms_per_mb=0.6))
    assert {verdict.passed for verdict in judge([measured])} == {None}


def flat_row(step: str, cpu_us: float, population: int) -> Row:
    figures = Figures(cpu_us_per_request=cpu_us, population=population)
    return row(f"queues/flat/waiting/{step}", figures, Figures(cpu_us_per_request=10.0))


def test_cost_is_as_flat_as_that_of_the_operation_that_suffers_most() -> None:
    goal = Goal("flat", 1.3, "x", flat("waiting", population_min=1000))
    rows = [flat_row("send", 11.0, 1000), flat_row("delete", 14.0, 1000)]
    (verdict,) = judge(rows, [goal])
    assert verdict.measured == pytest.approx(1.4)
    assert verdict.passed is False


def test_a_few_messages_say_nothing_about_a_million() -> None:
    few = [
        flat_row("send", 99.0, population=50_000),
        row("queues/memory", Figures(rss_mb=999.0, population=50_000)),
    ]
    assert {verdict.passed for verdict in judge(few)} == {None}
    many = row("queues/memory", Figures(rss_mb=999.0, population=1_000_000))
    assert {verdict.passed for verdict in judge([many])} == {None, False}
