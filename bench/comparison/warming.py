"""Decides when a server has been warmed up. Pure."""

from collections.abc import Sequence

from bench.samples import Sample

ROUNDS_MAX = 5
DIFFERENCE_MAX = 0.05


HOT_ROUNDS = 4


def cost(samples: Sequence[Sample]) -> float:
    """The time that a round's work took: for each unit of it, or where it was paced, of each
    message on its way."""
    return sum(
        sample.p50_us if sample.is_paced and sample.p50_us else sample.seconds / sample.work
        for sample in samples
    )


def is_settled(costs: Sequence[float]) -> bool:
    """Whether the last two rounds differ by less than the bound."""
    if len(costs) < 2:
        return False
    before, last = costs[-2:]
    return abs(last - before) < DIFFERENCE_MAX * before


def is_hot(costs: Sequence[float]) -> bool:
    """Whether the last rounds were no better than the best before them.

    Two rounds that are alike prove little of a just-in-time compiler: three JVMs on two cores
    were seen to get three times as fast within two minutes, in steps.
    """
    before, last = costs[:-HOT_ROUNDS], costs[-HOT_ROUNDS:]
    return bool(before) and min(last) > (1 - DIFFERENCE_MAX) * min(before)
