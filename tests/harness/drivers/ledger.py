"""What the members of a group were given and what they committed, over the whole group."""

from collections import Counter
from threading import Lock

Position = tuple[int, int]
"""Partition and offset."""


class DeliveryLedger:
    """A record whose offset was committed must not be delivered again, to anybody."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._committed: dict[int, int] = {}
        self.values: Counter[bytes | None] = Counter()
        """How often each value was delivered."""
        self.repeated: list[Position] = []
        """Deliveries of what had been committed before."""

    def delivered(self, partition: int, offset: int, value: bytes | None) -> None:
        with self._lock:
            self.values[value] += 1
            if offset < self._committed.get(partition, 0):
                self.repeated.append((partition, offset))

    def committed(self, offsets: dict[int, int]) -> None:
        """Called after the broker confirmed the commit, so that it is never noted too early."""
        with self._lock:
            for partition, offset in offsets.items():
                self._committed[partition] = max(offset, self._committed.get(partition, 0))
