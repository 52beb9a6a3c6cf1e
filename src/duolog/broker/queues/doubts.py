"""Damaged records of which other replicas have intact copies.

A record damaged on this node only is not lost: skipping it, as a sole node must, would lose it
for the whole cluster. Instead, reads of it are refused until housekeeping has verified the segment
and another node leads, at most for DOUBT_MS_MAX.
"""

from collections.abc import Callable

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.model.errors import StorageFailed

DOUBT_MS_MAX = 60_000
"""Time after which a damaged record is skipped nevertheless: verification found no damage, or no
other node could take the lead."""
DOUBTS_MAX = 1_000

OnDamage = Callable[[int], None]
"""Called with the offset of a damaged record; raises StorageFailed, or returns to skip it."""


def pass_over(offset: int) -> None:
    """An OnDamage that skips: no other replica has the record, or no client could be refused."""


class Doubts:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._since_ms: dict[tuple[Partition, int], int] = {}

    def raise_for(self, partition: Partition, offset: int) -> None:
        """Raises StorageFailed if another replica may have the record that is damaged here."""
        # Housekeeping verifies sealed segments only.
        if not self._have_others(partition) or partition.log.sealed_at(offset) is None:
            return
        now_ms = self._broker.clock.monotonic_ms()
        if len(self._since_ms) >= DOUBTS_MAX:
            self._since_ms.clear()
        if now_ms - self._since_ms.setdefault((partition, offset), now_ms) < DOUBT_MS_MAX:
            self._broker.doubted[partition] = offset
            raise StorageFailed("a record is damaged on this node; another node must serve it")

    def _have_others(self, partition: Partition) -> bool:
        entry = partition.entry
        if entry is None:
            return False
        state = entry.state
        return any(node != self._broker.node_id for node in (*state.in_sync, *state.eligible))
