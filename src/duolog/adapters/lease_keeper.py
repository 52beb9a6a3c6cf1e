"""Renews a node's lease from an event loop of its own, and watches the node's loop meanwhile.

A long turn of the node's loop delays requests and costs no lease. A loop that has not turned for
long is dead all the same, and its lease must end: then nothing is renewed.
"""

import asyncio
from collections.abc import Awaitable, Callable

from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.metastore import LeaseExpired, LeaseId, MetaStore, StoreUnavailable

LOOP_STANDS_MS_MAX = 5_000
"""An event loop that has not turned for longer loses its lease."""
LOOKS_PER_INTERVAL = 4
RETRY_MS = 100

log = get_logger("lease")


class LeaseKeeper:
    """Implements ports.lease_guard.LeaseGuard; `keep` runs on another loop than the watched one."""

    def __init__(
        self,
        open_store: Callable[[], Awaitable[MetaStore]],
        clock: Clock,
        interval_ms: int,
        watched: asyncio.AbstractEventLoop,
    ) -> None:
        self._open_store = open_store
        self._clock = clock
        self._interval_ms = interval_ms
        self._watched = watched
        self._turned_ms = clock.monotonic_ms()
        self._is_asked = False
        self._lease: LeaseId | None = None
        self._renewed: tuple[LeaseId, int] | None = None
        self._expired: LeaseId | None = None
        self._due_ms = 0
        self._is_ending = False

    def guard(self, lease: LeaseId | None) -> None:
        self._lease = lease

    def is_expired(self, lease: LeaseId) -> bool:
        return self._expired == lease

    def renewed_ms(self, lease: LeaseId) -> int:
        renewed = self._renewed
        return renewed[1] if renewed is not None and renewed[0] == lease else 0

    def end(self) -> None:
        """Lets `keep` return soon."""
        self._lease = None
        self._is_ending = True

    async def keep(self) -> None:
        store: MetaStore | None = None
        while not self._is_ending:
            await asyncio.sleep(self._interval_ms / LOOKS_PER_INTERVAL / 1000)
            self._ask()
            lease, now_ms = self._lease, self._clock.monotonic_ms()
            stands_ms = now_ms - self._turned_ms
            # Only `guard` changes the lease: by now it may have named the next one.
            if lease is None or lease == self._expired or now_ms < self._due_ms:
                continue
            if stands_ms > LOOP_STANDS_MS_MAX:
                continue
            try:
                async with asyncio.timeout(self._interval_ms / 1000):
                    store = store or await self._open_store()
                    await self._renew(store, lease)
            except LeaseExpired:
                self._expired = lease
            except (StoreUnavailable, TimeoutError) as error:
                self._due_ms = self._clock.monotonic_ms() + RETRY_MS
                log.debug("the lease was not renewed", error=str(error))
        if store is not None:
            await store.close()

    async def _renew(self, store: MetaStore, lease: LeaseId) -> None:
        sent_ms = self._clock.monotonic_ms()
        await store.renew_lease(lease)
        self._renewed = lease, sent_ms
        self._due_ms = sent_ms + self._interval_ms

    def _ask(self) -> None:
        """Asks the watched loop to show that it still turns."""
        if not self._is_asked:
            self._is_asked = True
            try:
                self._watched.call_soon_threadsafe(self._answer)
            except RuntimeError:
                # The loop is closed: nobody needs the lease any more.
                self._is_ending = True

    def _answer(self) -> None:
        self._turned_ms = self._clock.monotonic_ms()
        self._is_asked = False
