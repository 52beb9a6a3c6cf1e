"""Waits until copied records are on this node's own disk, as their topics ask."""

import asyncio
from collections.abc import Iterable

from duolog.broker.partition import Partition
from duolog.broker.waiting import FutureWaiter


async def all_durable(awaited: Iterable[tuple[Partition, int]]) -> None:
    """Waits until each partition is durable up to its offset; raises the first refusal."""
    loop = asyncio.get_running_loop()
    waiting = []
    for partition, offset in awaited:
        if partition.copied_offset < offset:
            durable: asyncio.Future[None] = loop.create_future()
            partition.make_durable(offset, FutureWaiter(durable))
            waiting.append(durable)
    if waiting:
        await asyncio.gather(*waiting)
