"""Damage that other nodes can make good.

What is damaged here alone is not lost: to pass over it, as a node alone has to, would settle for
all what others still have. Instead it is refused for a moment, until housekeeping has looked at
the segment and another node leads.
"""

from collections.abc import Callable

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.model.errors import StorageFailed

DOUBT_MS_MAX = 60_000
"""After which something is passed over all the same: looking at it has found nothing, or there
was nobody who could lead instead."""
DOUBTS_MAX = 1_000

OnDamage = Callable[[int], None]
"""Told the offset of what cannot be read; StorageFailed unless it is to be passed over."""


def pass_over(offset: int) -> None:
    """There is nobody who has it, or nobody could be told of the refusal."""


class Doubts:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._since_ms: dict[tuple[Partition, int], int] = {}

    def raise_for(self, partition: Partition, offset: int) -> None:
        """StorageFailed if another node has what is damaged here."""
        # Only sealed segments are looked at.
        if not self._have_others(partition) or partition.log.sealed_at(offset) is None:
            return
        now_ms = self._broker.clock.monotonic_ms()
        if len(self._since_ms) >= DOUBTS_MAX:
            self._since_ms.clear()
        if now_ms - self._since_ms.setdefault((partition, offset), now_ms) < DOUBT_MS_MAX:
            self._broker.doubted[partition] = offset
            raise StorageFailed("a record is damaged here, and another node is to serve it")

    def _have_others(self, partition: Partition) -> bool:
        entry = partition.entry
        if entry is None:
            return False
        state = entry.state
        return any(node != self._broker.node_id for node in (*state.in_sync, *state.eligible))
