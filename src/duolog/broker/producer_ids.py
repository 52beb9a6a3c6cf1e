"""Hands out producer ids that are unique over all nodes and restarts."""

import asyncio

from duolog.model.errors import RequestTimedOut
from duolog.ports.metastore import Compare, MetaStore, Put, StoreUnavailable

_KEY = "producer_ids/next"
"""Key of the first producer id that no node has reserved yet."""

_BLOCK_IDS = 1_000
"""Ids reserved by one transaction; a restart loses the unused ones of its last block."""


class ProducerIds:
    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self._free = iter(range(0))
        self._reserving: asyncio.Task[None] | None = None

    async def next_id(self) -> int:
        while True:
            for producer_id in self._free:
                return producer_id
            # Shared by all callers that find the block used up, and shielded from each: a client
            # that hangs up must not cancel the reservation for the others.
            if self._reserving is None or self._reserving.done():
                self._reserving = asyncio.create_task(self._reserve_block())
            await asyncio.shield(self._reserving)

    async def _reserve_block(self) -> None:
        try:
            while True:
                entry = await self._store.get(_KEY)
                first, revision = (int(entry.value), entry.mod_revision) if entry else (0, 0)
                put = Put(_KEY, str(first + _BLOCK_IDS).encode())
                result = await self._store.transact([Compare(_KEY, revision)], [put])
                if result.committed:
                    self._free = iter(range(first, first + _BLOCK_IDS))
                    return
        except StoreUnavailable as error:
            raise RequestTimedOut(f"the metadata store does not answer: {error}") from error
