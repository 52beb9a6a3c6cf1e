"""Slots for concurrent pushes on this node, shared fairly by its queues."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable


class PushSlots:
    def __init__(self, total: int) -> None:
        self._total = total
        self._free = total
        self._waiting: OrderedDict[Callable[[], None], None] = OrderedDict()
        """Callbacks for when slots are free, longest waiting first."""
        self._is_waking = False
        self._emptied: asyncio.Event | None = None

    @property
    def taken(self) -> int:
        return self._total - self._free

    def take(self, wanted: int, wake: Callable[[], None]) -> int:
        """Takes up to `wanted` free slots; if there is none, calls `wake` once one is free."""
        granted = min(wanted, self._free)
        self._free -= granted
        if not granted:
            self._waiting[wake] = None
        return granted

    def give_back(self, count: int) -> None:
        self._free += count
        # A loop, not a recursion: a woken pusher may have nothing to do and give back at once.
        if not self._is_waking:
            self._is_waking = True
            try:
                while self._free and self._waiting:
                    wake, _ = self._waiting.popitem(last=False)
                    wake()
            finally:
                self._is_waking = False
        if self._emptied is not None and not self.taken:
            self._emptied.set()

    def forget(self, wake: Callable[[], None]) -> None:
        self._waiting.pop(wake, None)

    async def all_back(self) -> None:
        """Waits until all slots are free."""
        if self.taken:
            self._emptied = asyncio.Event()
            await self._emptied.wait()
