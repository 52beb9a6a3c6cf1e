"""Scatters a request over several nodes, each about its own part, with retries.

NotLeader means that nothing was done, so it is retried while the catalog catches up. After an
unknown outcome only idempotent requests are retried.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from duolog.model.errors import LeadershipLost, NotLeader, PeerFailed, Refusal, RequestTimedOut
from duolog.observe.logs import get_logger

ROUTE_SECONDS_MAX = 10.0
"""Time for which a request looks for a leader; longer than a fail-over takes."""
PAUSE_SECONDS_MIN = 0.02
PAUSE_SECONDS_MAX = 0.25

log = get_logger("queues")

T = TypeVar("T")
R = TypeVar("R")

Ask = Callable[[int, Sequence[T]], Awaitable[Sequence[R | Refusal]]]


def is_unknown(refusal: Refusal) -> bool:
    return isinstance(refusal, LeadershipLost | PeerFailed | RequestTimedOut)


def may_repeat(refusal: Refusal, *, idempotent: bool) -> bool:
    if is_unknown(refusal):
        return idempotent
    return isinstance(refusal, NotLeader)


class Patience:
    """Pauses between retries, with back-off, until the request's time is up."""

    def __init__(self, seconds: float = ROUTE_SECONDS_MAX) -> None:
        self._ends = asyncio.get_running_loop().time() + seconds
        self._pause = PAUSE_SECONDS_MIN

    async def is_left(self) -> bool:
        if asyncio.get_running_loop().time() + self._pause > self._ends:
            return False
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, PAUSE_SECONDS_MAX)
        return True


async def scatter(
    items: Sequence[T],
    node_of: Callable[[T], int | None],
    ask: Ask[T, R],
    *,
    idempotent: bool,
) -> list[R | Refusal]:
    """Asks the leader of each item's partition, with retries; one result per item."""
    results: list[R | Refusal] = [nobody_leads()] * len(items)
    pending = list(range(len(items)))
    patience = Patience()
    while True:
        answers = await scatter_once([items[place] for place in pending], node_of, ask)
        for place, answer in zip(pending, answers, strict=True):
            results[place] = answer
        pending = repeatable(results, pending, idempotent=idempotent)
        if not pending or not await patience.is_left():
            return results


async def scatter_once(
    items: Sequence[T], node_of: Callable[[T], int | None], ask: Ask[T, R]
) -> list[R | Refusal]:
    results: list[R | Refusal] = [nobody_leads()] * len(items)
    by_node: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        node = node_of(item)
        if node is not None:
            by_node.setdefault(node, []).append(place)
    answering = (
        asked(ask, node, [items[place] for place in places]) for node, places in by_node.items()
    )
    for places, answers in zip(by_node.values(), await asyncio.gather(*answering), strict=True):
        for place, answer in zip(places, answers, strict=True):
            results[place] = answer
    return results


def repeatable(results: Sequence[object], places: Sequence[int], *, idempotent: bool) -> list[int]:
    """Places whose refused items may be retried."""
    return [
        place
        for place in places
        if isinstance(found := results[place], Refusal) and may_repeat(found, idempotent=idempotent)
    ]


async def asked(ask: Ask[T, R], node: int, items: Sequence[T]) -> Sequence[R | Refusal]:
    """Asks one node; the refusal of the whole request becomes the refusal of each item."""
    try:
        return await ask(node, items)
    except Refusal as refusal:
        return [refusal.with_traceback(None)] * len(items)


def failed(error: Exception) -> PeerFailed:
    """Logs a bug's exception; returns the refusal that the caller gets."""
    log.error("a request to other nodes failed", exc_info=error)
    return PeerFailed(f"the request failed: {error!r}")


def nobody_leads() -> NotLeader:
    return NotLeader("No node leads this partition of the queue at the moment.")
