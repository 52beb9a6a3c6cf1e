"""What a comparison has found so far."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

from bench.comparison.rounds import FAILURES
from bench.comparison.standing import Absent, Contestant, Standing
from bench.processes import Server


@dataclass(slots=True)
class Findings:
    contestants: list[Contestant] = field(default_factory=list)
    standings: list[Standing] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)

    def start(
        self, stack: ExitStack, contestant: Contestant, serving: AbstractContextManager[Server]
    ) -> Server | None:
        """Starts a contestant's server, or notes why it does not start."""
        try:
            server = stack.enter_context(serving)
        except FAILURES as failure:
            self.absent.append(Absent(contestant.name, f"did not start: {failure}"))
            return None
        self.contestants.append(contestant)
        return server

    def take(self, found: Iterable[Standing | Absent]) -> None:
        for each in found:
            if isinstance(each, Absent):
                self.absent.append(each)
            else:
                self.standings.append(each)
