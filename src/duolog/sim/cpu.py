"""The CPU of one process: work passes virtual time, which nothing else in the simulation does.

A callback that works ends later than it began, and its event loop runs nothing else meanwhile
(world.py). Work is charged in two places: at the ports, by calls and bytes, and by the budget that
long work holds, by steps.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from duolog.sim.host import Host
from duolog.sim.prices import STEP, THREAD, Price

if TYPE_CHECKING:
    from duolog.sim.loop import ProcessLoop
    from duolog.sim.world import World


def _nobody(cost_ns: int) -> None:
    """Is told of no turn."""


class Cpu:
    __slots__ = (
        "_beside",
        "_host",
        "_offloaded_ns",
        "_turn_ns",
        "_world",
        "loop",
        "on_turn",
        "spent_ns",
        "steps",
    )

    def __init__(
        self,
        world: "World",
        loop: "ProcessLoop | None" = None,
        host: Host | None = None,
        beside: "ProcessLoop | None" = None,
    ) -> None:
        """Without a host, all work is free. `beside` is the loop of another thread of the same
        process: while that computes, this one waits for the interpreter."""
        self._world = world
        self._host = host
        self._beside = beside
        self.loop = loop
        self.spent_ns = 0
        """CPU time of the loop's thread."""
        self.steps = 0
        """Steps of long work so far."""
        self.on_turn: Callable[[int], None] = _nobody
        """Called with the CPU time of each turn that cost any."""
        self._turn_ns = 0
        self._offloaded_ns: int | None = None
        """Time that the worker's job has cost so far; None unless one runs now."""

    def pay(self, price: Price, size: int = 0) -> None:
        if self._host is not None:
            beside = self._beside
            is_waiting = beside is not None and beside.free_ns > self._world.now_ns
            self._spend(price.of(size) + is_waiting * THREAD.call_ns, self._host)

    def work(self, steps: int) -> None:
        """Passes the time of so many steps of long work."""
        self.steps += steps
        if self._host is not None:
            self._spend(STEP.call_ns * steps * self._host.weight, self._host)

    @contextmanager
    def offloaded(self) -> Iterator[Callable[[], int]]:
        """Charges work to a worker; yields a function that returns how long it takes so far."""
        self._offloaded_ns = 0
        taken_ns = 0

        def read() -> int:
            return taken_ns if self._offloaded_ns is None else self._offloaded_ns

        try:
            yield read
        finally:
            taken_ns, self._offloaded_ns = self._offloaded_ns, None

    def end_turn(self) -> None:
        """Called by the world after each callback of the loop that took time."""
        if self._turn_ns:
            turn_ns, self._turn_ns = self._turn_ns, 0
            self.on_turn(turn_ns)

    def _spend(self, cost_ns: int, host: Host) -> None:
        world = self._world
        if world.running is not self.loop:
            # An oracle looks at the process's state from outside.
            return
        elapsed_ns = int(cost_ns * host.busyness)
        if self._offloaded_ns is not None:
            self._offloaded_ns += elapsed_ns
            return
        self.spent_ns += cost_ns
        self._turn_ns += cost_ns
        world.now_ns += elapsed_ns
