"""Counts how much is stored for how long, of the partitions that this node leads."""

import asyncio
from collections.abc import Callable

from duolog.broker.broker import Broker
from duolog.broker.usage.meter import Meter
from duolog.core.usage.periods import hour_start_ms
from duolog.model.usage import Kind

LOOK_SECONDS = 60.0
"""Between two looks at what is stored. While nothing changes, it is counted at the full hour."""
PARTITIONS_AT_ONCE = 1_000
"""Looked at before others get a turn."""


class StoredUsage:
    def __init__(
        self, broker: Broker, meter: Meter, is_queue: Callable[[str], bool], since_ms: int
    ) -> None:
        """`since_ms`: up to when all is counted already."""
        self._broker = broker
        self._meter = meter
        self._is_queue = is_queue
        self._sizes: dict[str, int] = {}
        """By topic, at the last look."""
        self._since_ms = since_ms
        meter.stored_ms = since_ms
        meter.before_cut = self._cut

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        sizes: dict[str, int] = {}
        for number, partition in enumerate(list(self._broker.partitions()), 1):
            if partition.is_leader and not partition.topic.internal:
                name = partition.topic.name
                sizes[name] = sizes.get(name, 0) + partition.log.size_bytes
            if number % PARTITIONS_AT_ONCE == 0:
                await asyncio.sleep(0)
        if sizes != self._sizes:
            if self._sizes:
                self.count(self._broker.clock.now_ms())
            self._sizes = sizes

    def _cut(self, until_ms: int) -> None:
        """No interval counts what was stored in another one's hour."""
        if until_ms == hour_start_ms(until_ms):
            self.count(until_ms)

    def count(self, until_ms: int) -> None:
        """Everything that was there at the last look, up to this moment."""
        # What nobody has counted before the hour ended is not this hour's.
        since_ms = max(self._since_ms, hour_start_ms(until_ms - 1))
        if until_ms <= since_ms:
            return
        for name, size in self._sizes.items():
            if size:
                kind: Kind = "queue" if self._is_queue(name) else "topic"
                byte_seconds = size * (until_ms - since_ms) // 1000
                self._meter.tally(kind, name, "store").store(size, byte_seconds)
        self._since_ms = self._meter.stored_ms = until_ms
