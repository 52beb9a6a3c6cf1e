"""A node's clocks: a monotonic one, and a wall clock that faults can set."""

from duolog.sim.cpu import Cpu
from duolog.sim.world import NS_PER_MS, World

START_MS = 1_700_000_000_000
"""Wall-clock time when the world begins."""


class SimClock:
    def __init__(self, world: World) -> None:
        self._world = world
        self.cpu = Cpu(world)
        """The CPU of the machine's process, which passes time by its work."""
        self.skew_ms = 0
        """Lead of the wall clock over the true time; negative while it lags behind."""

    def now_ms(self) -> int:
        return START_MS + self.skew_ms + self._world.now_ns // NS_PER_MS

    def monotonic_ms(self) -> int:
        return self._world.now_ns // NS_PER_MS

    def monotonic_ns(self) -> int:
        return self._world.now_ns

    def thread_ns(self) -> int:
        return self.cpu.spent_ns

    def worked(self, steps: int) -> None:
        self.cpu.work(steps)
