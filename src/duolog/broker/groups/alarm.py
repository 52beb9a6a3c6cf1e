"""One timer, set to the earliest requested time."""

import asyncio
from collections.abc import Callable

from duolog.ports.clock import Clock


class Alarm:
    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._due_ms: int | None = None
        self._handle: asyncio.TimerHandle | None = None

    def set(self, due_ms: int) -> None:
        """Rings once at this time, unless it is already set to an earlier one."""
        if self._due_ms is not None and self._due_ms <= due_ms:
            return
        self.cancel()
        self._due_ms = due_ms
        delay_ms = max(0, due_ms - self._clock.monotonic_ms())
        self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._fire)

    def cancel(self) -> None:
        self._due_ms = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._due_ms = self._handle = None
        self._ring()
