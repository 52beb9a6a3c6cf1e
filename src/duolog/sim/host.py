"""The hosts of a seed: how busy they are with other work, and how much the nodes have stored."""

from random import Random
from typing import NamedTuple

IDLE_SHARE = 0.4
"""Share of seeds whose hosts have nothing else to do."""
BUSYNESS_MAX = 30.0
LIGHT_SHARE = 0.5
WEIGHTS = (100, 300, 1_000)
HEAVINESS_MAX = 10_000
"""Largest product of busyness and weight. Beyond it new records alone, which weigh as much, keep a
node busy all the time: it is overloaded, not slow to heal."""


class Host(NamedTuple):
    busyness: float = 1.0
    """Factor by which work takes longer than its CPU time."""
    weight: int = 1
    """Records that each stored record stands for when long work reads it: a minute of load fills
    no log."""

    @property
    def is_idle(self) -> bool:
        return self.busyness == 1.0


def draw_host(random: Random) -> Host:
    busyness = 1.0 if random.random() < IDLE_SHARE else BUSYNESS_MAX ** random.random()
    weight = 1 if random.random() < LIGHT_SHARE else random.choice(WEIGHTS)
    return Host(busyness, min(weight, int(HEAVINESS_MAX / busyness)))
