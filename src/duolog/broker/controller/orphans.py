"""Removes orphaned partition states, left by an interrupted creation or deletion of a topic.

A topic's partitions are written before the topic and removed after it, so a node that crashes in
between leaves orphans. A creation under way looks the same, so only states that have not changed
for UNTOUCHED_MS are removed.
"""

from collections.abc import Mapping

from duolog.broker.catalog import Catalog
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock

log = get_logger("controller")

UNTOUCHED_MS = 10 * 60_000


class OrphanSweep:
    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._seen: Mapping[str, int] = {}
        self._seen_ms = clock.monotonic_ms()

    async def sweep(self) -> None:
        """Removes old orphans; called periodically, on the controller only."""
        if self._clock.monotonic_ms() - self._seen_ms < UNTOUCHED_MS:
            return
        try:
            await self._catalog.remove_orphans(self._seen)
        except Refusal as refusal:
            log.info("orphans not removed", why=str(refusal))
        self._seen = dict(self._catalog.orphans())
        self._seen_ms = self._clock.monotonic_ms()
