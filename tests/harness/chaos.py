"""Hurts a cluster by chance, again and again, and sees to it that all of it runs again."""

import random
import time
from collections import Counter
from collections.abc import Callable

from tests.harness.cluster_faults import MAKERS, Fault, Maker
from tests.harness.distant_cluster import DistantCluster
from tests.harness.node import NodeFailed

SECONDS_MIN, SECONDS_MAX = 0.3, 4.0
TWO_AT_ONCE = 0.25
"""How often a second fault begins before the first is over."""
STAYS = 0.3
"""How often a fault is over only once the others go on without it."""
STARTS_MAX = 3


class Chaos:
    """Hurts a cluster until it is told to stop, and then heals it."""

    def __init__(self, place: DistantCluster, chance: random.Random) -> None:
        self._place = place
        self._chance = chance
        self._begun = time.monotonic()
        self._deck: list[Maker] = []
        self._postponed: Fault | None = None
        self.counts: Counter[str] = Counter()

    def hurt(self, until_well: Callable[[], None]) -> None:
        """One fault, or two that overlap; `until_well` waits for what must go on by itself."""
        chance = self._chance
        faults = [self._choose()]
        if chance.random() < TWO_AT_ONCE:
            faults.append(self._choose())
            if faults[0].victims & faults[1].victims:
                self._postponed = faults.pop()
        for fault in faults:
            self._say(f"begins: {fault}")
            fault.begin()
            self.counts[fault.kind] += 1
            time.sleep(chance.uniform(SECONDS_MIN, SECONDS_MAX))
        if len(faults) == 1 and faults[0].is_survivable and chance.random() < STAYS:
            until_well()
        for fault in faults:
            self._say(f"ends: {fault}")
            fault.end()
        self._supervise()
        until_well()

    def _supervise(self) -> None:
        """Start again what has ended by itself, as an operator's supervisor does: a node that
        starts while the store is out of reach says so and ends."""
        for node in self._place.cluster.nodes.values():
            for _ in range(STARTS_MAX):
                try:
                    node.until_ready()
                    break
                except NodeFailed:
                    node.check_log()
                    self._say(f"ended by itself: node {node.settings['node.id']}")
                    self.counts["end by itself"] += 1
                    node.spawn()
            else:
                raise AssertionError(f"a node does not start any more: {node.log_text[-2000:]}")

    def _choose(self) -> Fault:
        """All kinds come equally often, so that a short run has all of them, too."""
        if self._postponed is not None:
            fault, self._postponed = self._postponed, None
            return fault
        if not self._deck:
            self._deck = list(MAKERS)
            self._chance.shuffle(self._deck)
        number = self._chance.choice(list(self._place.cluster.nodes))
        member = self._chance.randrange(len(self._place.etcd_machines))
        return self._deck.pop()(self._place, number, member, self._chance)

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._begun:7.2f} s  {text}", flush=True)
