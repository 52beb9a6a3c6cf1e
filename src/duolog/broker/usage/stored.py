"""Counts stored byte-seconds of the partitions that this node leads."""

import asyncio
from collections.abc import Callable

from duolog.broker.broker import Broker
from duolog.broker.usage.meter import Meter
from duolog.core.usage.periods import hour_start_ms
from duolog.model.usage import Kind

LOOK_SECONDS = 60.0
"""Interval at which stored sizes are read. While they are unchanged, they count at full hours."""
PARTITIONS_AT_ONCE = 1_000
"""Partitions looked at per turn of the event loop."""


class StoredUsage:
    def __init__(
        self, broker: Broker, meter: Meter, is_queue: Callable[[str], bool], since_ms: int
    ) -> None:
        """Counts storage from `since_ms` on."""
        self._broker = broker
        self._meter = meter
        self._is_queue = is_queue
        self._sizes: dict[str, int] = {}
        """Stored bytes by topic, at the last look."""
        self._since_ms = since_ms
        meter.stored_ms = since_ms
        meter.before_cut = self._cut

    async def run(self) -> None:
        """Looks at stored sizes every LOOK_SECONDS, until cancelled."""
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
        """Counts at each full hour, so that byte-seconds belong to the hour of their interval."""
        if until_ms == hour_start_ms(until_ms):
            self.count(until_ms)

    def count(self, until_ms: int) -> None:
        """Counts the sizes of the last look up to this time."""
        # Time of an earlier hour that nobody has counted is not added to this hour.
        since_ms = max(self._since_ms, hour_start_ms(until_ms - 1))
        if until_ms <= since_ms:
            return
        for name, size in self._sizes.items():
            if size:
                kind: Kind = "queue" if self._is_queue(name) else "topic"
                byte_seconds = size * (until_ms - since_ms) // 1000
                self._meter.tally(kind, name, "store").store(size, byte_seconds)
        self._since_ms = self._meter.stored_ms = until_ms
