"""A node's clocks: one that only goes on, and one that somebody sets."""

from duolog.sim.world import NS_PER_MS, World

START_MS = 1_700_000_000_000
"""What the wall clocks show when the world begins."""


class SimClock:
    def __init__(self, world: World) -> None:
        self._world = world
        self.skew_ms = 0
        """How far the wall clock is ahead of the true time; it may be set back, too."""

    def now_ms(self) -> int:
        return START_MS + self.skew_ms + self._world.now_ns // NS_PER_MS

    def monotonic_ms(self) -> int:
        return self._world.now_ns // NS_PER_MS

    def monotonic_ns(self) -> int:
        return self._world.now_ns
