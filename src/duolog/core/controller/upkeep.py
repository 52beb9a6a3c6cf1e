"""Decides moves, balance and growth once all is settled. Pure but for its memory.

Takes one source at a time, most urgent first: two decisions about one partition in one round would
contradict each other.
"""

from collections.abc import Callable

from duolog.core.controller.autoscale import Autoscale, Scaling
from duolog.core.controller.changes import Decision
from duolog.core.controller.completion import completed_replicas
from duolog.core.controller.draining import leaders_moved_away, replicas_moved_away
from duolog.core.controller.full_disks import full_disk_moves
from duolog.core.controller.image import ClusterImage
from duolog.core.controller.isolation import Isolation
from duolog.core.controller.load_balance import LoadBalance
from duolog.core.controller.preferred import PreferredLeaders
from duolog.core.controller.reassignment import reassignment_steps
from duolog.core.controller.spreading import spreading_moves

Source = Callable[[ClusterImage, int], list[Decision]]


class Upkeep:
    def __init__(self, balance_interval_ms: int, now_ms: int) -> None:
        self._interval_ms = balance_interval_ms
        self._balanced_ms = now_ms
        self._scaled_ms = now_ms
        self._isolation = Isolation()
        self._preferred_leaders = PreferredLeaders()
        self._load_balance = LoadBalance()
        self._autoscale = Autoscale()

    def is_due(self, now_ms: int) -> bool:
        """True if balance or scaling is due although nothing has changed."""
        return self._is_over(self._balanced_ms, now_ms) or self._is_over(self._scaled_ms, now_ms)

    def wait_ms(self, now_ms: int) -> int | None:
        """Time until an urgent decision may be due although nothing changes; None: none such."""
        return self._isolation.wait_ms(now_ms)

    def decisions(self, image: ClusterImage, now_ms: int) -> list[Decision]:
        """The most urgent decisions; asked again once they are done, until there are none."""
        sources: list[Source] = [
            self._isolation.decisions,
            full_disk_moves,
            reassignment_steps,
            leaders_moved_away,
            replicas_moved_away,
            completed_replicas,
        ]
        is_due = self._is_over(self._balanced_ms, now_ms)
        if is_due:
            sources += [self._preferred_leaders.moves, self._load_balance.moves, spreading_moves]
        for source in sources:
            if found := source(image, now_ms):
                return found
        if is_due:
            self._balanced_ms = now_ms
        return []

    def scalings(self, image: ClusterImage, now_ms: int) -> list[Scaling]:
        if not self._is_over(self._scaled_ms, now_ms):
            return []
        self._scaled_ms = now_ms
        return self._autoscale.scalings(image, now_ms)

    def _is_over(self, since_ms: int, now_ms: int) -> bool:
        """True also if the clock was set back: better early than not for a year."""
        return not 0 <= now_ms - since_ms < self._interval_ms
