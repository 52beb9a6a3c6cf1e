"""How the clients behave that say when something is served again: no retries of their own, and
short time-outs; the next node is asked soon."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from tests.harness.node import Node

NEXT_NODE_SECONDS = 0.05


@dataclass(frozen=True)
class Pace:
    answer_seconds_max: float = 0.5
    """For so long a client waits for an answer before it asks the next node."""
    rest_seconds: float = 0.3
    """Between two requests of a client that is answered."""
    silence_seconds_max: float = 1.0
    """A client without an answer for longer is not served."""
    steady_seconds: float = 2.0
    """Served for so long without a silence: the fault is over for clients."""


IDLE = Pace()
BUSY = Pace(answer_seconds_max=1.5, silence_seconds_max=2.5)


class Turns:
    """Nodes one after the other, each client from another one on."""

    _first = 0

    def __init__(self, nodes: Sequence[Node]) -> None:
        Turns._first += 1
        first = Turns._first % len(nodes)
        self._nodes = cycle([*nodes[first:], *nodes[:first]])
        self.node = next(self._nodes)

    def turn(self) -> None:
        self.node = next(self._nodes)
