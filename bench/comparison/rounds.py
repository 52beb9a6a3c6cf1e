"""Contestants take turns, round by round, after each has been warmed up."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from bench.comparison.standing import Absent, Contestant, Standing
from bench.comparison.warming import ROUNDS_MAX, cost, is_hot, is_settled
from bench.driver import LoadFailed
from bench.http_line import BadAnswer
from bench.kafka import Refused
from bench.processes import ServerFailed
from bench.samples import Sample, summarize

FAILURES = (ServerFailed, LoadFailed, BadAnswer, Refused, OSError, AssertionError)
"""What costs a comparison one contestant, not all of them."""
ATTEMPTS = 3
"""moto answers 500 when certain requests meet."""
ATTEMPT_STEP = 1000
"""Keeps the names of what a failed attempt has left behind from being used again."""
PREHEAT_NUMBER = 100
Round = Callable[[int], Sequence[Sample]]
"""Does the work once, given the number of the round: a sample for each part of it."""


@dataclass(slots=True)
class Turns:
    """One contestant's rounds under one load."""

    contestant: Contestant
    run: Round
    preheat_seconds: float = 0.0
    """For so long at most the work is repeated before the warm-up, as long as it gets faster."""
    costs: list[float] = field(default_factory=list)
    counted: list[Sequence[Sample]] = field(default_factory=list)
    failure: str = ""

    @property
    def is_warm(self) -> bool:
        return is_settled(self.costs) or len(self.costs) >= ROUNDS_MAX

    def take(self, number: int, *, is_counted: bool) -> None:
        samples = self._tried(number)
        if samples is None:
            return
        if is_counted:
            self.counted.append(samples)
        else:
            self.costs.append(cost(samples))

    def preheat(self) -> None:
        began, costs = time.monotonic(), list[float]()
        while time.monotonic() - began < self.preheat_seconds and not is_hot(costs):
            samples = self._tried(PREHEAT_NUMBER + len(costs))
            if samples is None:
                return
            costs.append(cost(samples))

    def _tried(self, number: int) -> Sequence[Sample] | None:
        for attempt in range(ATTEMPTS):
            try:
                samples = self.run(number + attempt * ATTEMPT_STEP)
            except FAILURES as failure:
                self.failure = str(failure).partition("\n")[0] or type(failure).__name__
            else:
                self.failure = ""
                return samples
        return None


def alternate(
    title: str,
    parts: Sequence[str],
    turns: Sequence[Turns],
    *,
    rounds: int,
    progress: Callable[[str], None],
) -> Iterator[Standing | Absent]:
    """A standing for each part of a round and contestant; `parts` are their loads' names."""
    for each in turns:
        if each.preheat_seconds:
            progress(f"{title}: {each.contestant.name} is preheated")
            each.preheat()
    for number in range(ROUNDS_MAX):
        cold = [each for each in turns if not each.is_warm and not each.failure]
        for each in cold:
            progress(f"{title}: {each.contestant.name} warms up, round {number + 1}")
            each.take(number, is_counted=False)
    for number in range(rounds):
        first = number % len(turns)
        for each in [*turns[first:], *turns[:first]]:
            if not each.failure:
                progress(f"{title}: {each.contestant.name}, round {number + 1} of {rounds}")
                each.take(ROUNDS_MAX + number, is_counted=True)
    for each in turns:
        if each.failure:
            yield Absent(each.contestant.name, f"{title}: {each.failure}")
            continue
        for part, samples in zip(parts, zip(*each.counted, strict=True), strict=True):
            yield Standing(
                part,
                each.contestant.name,
                summarize(samples),
                warm_up=len(each.costs),
                settled=is_settled(each.costs),
            )
