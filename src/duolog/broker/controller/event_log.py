"""The controller's events in the store, newest last, for an operator to read.

    events/<milliseconds since 1970, 13 digits><a number, 7 digits>

Written in the background, after the decisions: no election waits for its event. If the store is
unavailable for long, the oldest unwritten events are dropped.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from duolog.core.controller.events import Event
from duolog.observe.logs import get_logger
from duolog.ports.metastore import OPERATIONS_MAX, Delete, MetaStore, Put, StoreUnavailable

log = get_logger("controller")

EVENTS_PREFIX = "events/"
EVENTS_KEPT_MAX = 10_000
EVENTS_WAITING_MAX = 10_000

_TRIM_EVERY = 1_000
_RETRY_S = 0.5
_GATHER_S = 0.1
"""Delay that gathers events into one write: elections come in bursts, while the store is busy."""
_decoder = msgspec.json.Decoder(Event)


class EventLog:
    def __init__(self, store: MetaStore, node: int) -> None:
        self._store = store
        self._waiting: deque[Put] = deque(maxlen=EVENTS_WAITING_MAX)
        # Starts differently on each node, so that an old and a new controller share no keys.
        self._number = node % 1_000 * 10_000
        self._since_trim = 0
        self._writing: asyncio.Task[None] | None = None

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            log.info(event.kind, subject=event.subject, why=event.text)
            self._waiting.append(Put(self._next_key(event), msgspec.json.encode(event)))
        if self._waiting and (self._writing is None or self._writing.done()):
            self._writing = asyncio.create_task(self._write())

    async def written(self) -> None:
        """Waits until all added events are in the store."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    def stop(self) -> None:
        if self._writing is not None:
            self._writing.cancel()

    async def _write(self) -> None:
        await asyncio.sleep(_GATHER_S)
        while self._waiting:
            count = min(OPERATIONS_MAX, len(self._waiting))
            batch = [self._waiting.popleft() for _ in range(count)]
            await self._put(batch)
            self._since_trim += count
            if self._since_trim >= _TRIM_EVERY:
                self._since_trim = 0
                await self._trim()

    async def _put(self, batch: Sequence[Put]) -> None:
        while True:
            try:
                # Idempotent: after a lost answer the same keys are written again.
                await self._store.transact([], batch)
                return
            except StoreUnavailable:
                await asyncio.sleep(_RETRY_S)

    def _next_key(self, event: Event) -> str:
        self._number = (self._number + 1) % 10_000_000
        return f"{EVENTS_PREFIX}{event.time_ms:013d}{self._number:07d}"

    async def _trim(self) -> None:
        try:
            await trim(self._store)
        except StoreUnavailable:
            log.info("events not trimmed")


async def trim(store: MetaStore, kept_max: int = EVENTS_KEPT_MAX) -> None:
    entries = (await store.range(EVENTS_PREFIX)).entries
    keys = [entry.key for entry in entries[: max(0, len(entries) - kept_max)]]
    for first in range(0, len(keys), OPERATIONS_MAX):
        operations = [Delete(key) for key in keys[first : first + OPERATIONS_MAX]]
        await store.transact([], operations)


async def read_events(store: MetaStore) -> list[Event]:
    """Reads all stored events, oldest first."""
    snapshot = await store.range(EVENTS_PREFIX)
    return [_decoder.decode(entry.value) for entry in snapshot.entries]
