"""What the node is expected to reach, judged from the rows of a run. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.cluster_goals import CLUSTER_GOALS
from bench.goal import Goal
from bench.queue_goals import QUEUE_GOALS
from bench.rows import Row
from bench.spark_goals import SPARK_GOALS
from bench.topic_goals import TOPIC_GOALS

GOALS: Sequence[Goal] = (*TOPIC_GOALS, *QUEUE_GOALS, *CLUSTER_GOALS, *SPARK_GOALS)
OTHERS_CORES_MAX = 0.25
"""Above this, other processes decide what a clock shows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    text: str
    measured: float | None
    limit: float
    unit: str
    at_least: bool
    passed: bool | None
    """None when the run did not measure it, or measured nonsense."""

    @property
    def void(self) -> bool:
        return self.measured is not None and self.passed is None


def is_disturbed(row: Row) -> bool:
    return (row.of_ours("others_cores") or 0.0) > OTHERS_CORES_MAX


def judge(rows: Sequence[Row], goals: Sequence[Goal] = GOALS) -> list[Verdict]:
    by_key = {row.key: row for row in rows}
    return [_judge_one(goal, by_key) for goal in goals]


def _judge_one(goal: Goal, rows: Mapping[str, Row]) -> Verdict:
    measured, passed = goal.measure(rows), None
    least, most = goal.plausible
    noisy = any(is_disturbed(rows[key]) for key in goal.clocked if key in rows)
    if measured is not None and least <= measured <= most:
        reached = measured >= goal.limit if goal.at_least else measured <= goal.limit
        believed = not noisy or (reached and goal.noise == "harms")
        passed = reached if believed else None
    return Verdict(goal.text, measured, goal.limit, goal.unit, goal.at_least, passed)
