"""A thread that renews a node's lease over a connection of its own.

Python lets another thread run every few milliseconds, even while a turn of the event loop takes
seconds.
"""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

from duolog.adapters.lease_keeper import LeaseKeeper
from duolog.ports.clock import Clock
from duolog.ports.metastore import MetaStore

STOP_S_MAX = 2.0
LEASE_THREAD = "lease"
"""Name that `top -H` shows, and under which the kernel counts how long it waited for CPU."""


class LeaseThread(LeaseKeeper):
    """Made and stopped on the loop that it watches."""

    def __init__(
        self, open_store: Callable[[], Awaitable[MetaStore]], clock: Clock, interval_ms: int
    ) -> None:
        super().__init__(open_store, clock, interval_ms, asyncio.get_running_loop())
        self._thread = threading.Thread(target=self._run, name=LEASE_THREAD, daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self.end()
        # A thread: the connection's time-out bounds how long this takes.
        await asyncio.to_thread(self._thread.join, STOP_S_MAX)

    def _run(self) -> None:
        _name_this_thread(LEASE_THREAD)
        asyncio.run(self.keep())


def _name_this_thread(name: str) -> None:
    """Tells the kernel, too, where it has such names."""
    with contextlib.suppress(OSError):
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name)
