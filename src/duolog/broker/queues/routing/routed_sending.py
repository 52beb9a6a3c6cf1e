"""Sends to a queue that several nodes lead.

A standard queue's message goes to a partition led here, if there is one, else to any leader. A
FIFO queue's message goes by its group, after other partitions that may still have messages of the
group were asked: see `GroupPlacement`.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.routing.leaders import GroupPlacement, Leaders
from duolog.broker.queues.routing.links import ANY_REVISION, QueueLink
from duolog.broker.queues.routing.scattering import (
    Patience,
    asked,
    nobody_leads,
    repeatable,
    scatter_once,
)
from duolog.broker.queues.sending import Sent
from duolog.core.queues.message import Outgoing, group_of
from duolog.model.errors import Refusal
from duolog.records.record import Record

T = TypeVar("T")

Offer = Callable[[QueueLink, Sequence[Any], int, int | None], Coroutine[Any, Any, Sequence[Any]]]
"""Offers items to a node, with the topic's revision and, optionally, a partition that takes only
items known to it. A falsy result: not taken."""


class RoutedSending:
    __slots__ = ("_leaders", "_link", "_local", "_turn")

    def __init__(self, local: Queue, leaders: Leaders, link: Callable[[int], QueueLink]) -> None:
        self._local = local
        self._leaders = leaders
        self._link = link
        self._turn = 0

    async def send(self, messages: Sequence[Outgoing]) -> list[Sent | Refusal]:
        return await self._offered(
            messages,
            lambda message: (message.group_id or "").encode(),
            lambda link, some, revision, only_known_to: link.send(
                some, topic_revision=revision, only_known_to=only_known_to
            ),
        )

    async def accept(self, records: Sequence[Record]) -> None:
        """Appends moved messages; raises Refusal if one is refused, though others may be in."""
        results = await self._offered(
            records,
            lambda record: group_of(record, fifo=True) or b"",
            lambda link, some, revision, only_known_to: link.accept(
                some, topic_revision=revision, only_known_to=only_known_to
            ),
        )
        for result in results:
            if isinstance(result, Refusal):
                raise result

    async def _offered(
        self, items: Sequence[T], group_of: Callable[[T], bytes], offer: Offer
    ) -> list[Any]:
        if not self._local.config.fifo:
            return await self._offered_anywhere(items, offer)
        results: list[Any] = [nobody_leads()] * len(items)
        pending = list(range(len(items)))
        patience = Patience()
        while True:
            placement = self._leaders.group_placement()
            if placement is not None:
                some = [items[place] for place in pending]
                answers = await self._offered_in(placement, some, group_of, offer)
                for place, answer in zip(pending, answers, strict=True):
                    results[place] = answer
            pending = repeatable(results, pending, idempotent=True)
            if not pending or not await patience.is_left():
                return results

    async def _offered_in(
        self,
        placement: GroupPlacement,
        items: Sequence[T],
        group_of: Callable[[T], bytes],
        offer: Offer,
    ) -> list[Any]:
        """Offers each item to partitions that may have its group or its original, and else to its
        group's home."""
        results: list[Any] = [None] * len(items)
        anywhere = self._local.config.deduplication_scope == "queue"
        elsewhere: dict[int, list[int]] = {}
        at_home: dict[int, list[int]] = {}
        for place, item in enumerate(items):
            group = group_of(item)
            at_home.setdefault(placement.home_of(group), []).append(place)
            for index in placement.elsewhere(group, anywhere=anywhere):
                elsewhere.setdefault(index, []).append(place)
        for index, places in elsewhere.items():
            ask = partial(self._offer_known, offer, placement, index)
            await self._ask(items, results, {index: places}, ask)
        await self._ask(items, results, at_home, partial(self._offer_home, offer, placement))
        return results

    async def _ask(
        self,
        items: Sequence[T],
        results: list[Any],
        by_partition: Mapping[int, Sequence[int]],
        ask: Callable[[int, Sequence[Any]], Awaitable[Sequence[Any]]],
    ) -> None:
        """Offers the items not taken yet, in order, to their partitions' leaders."""
        index_of = {place: index for index, places in by_partition.items() for place in places}
        left = [place for place in sorted(index_of) if not results[place]]
        answers = await scatter_once(
            left,
            lambda place: self._leaders.of(index_of[place]),
            lambda node, places: ask(node, [items[place] for place in places]),
        )
        for place, answer in zip(left, answers, strict=True):
            results[place] = answer

    async def _offer_known(
        self, offer: Offer, placement: GroupPlacement, index: int, node: int, some: Sequence[Any]
    ) -> Sequence[Any]:
        return await offer(self._link(node), some, placement.revision, index)

    async def _offer_home(
        self, offer: Offer, placement: GroupPlacement, node: int, some: Sequence[Any]
    ) -> Sequence[Any]:
        return await offer(self._link(node), some, placement.revision, None)

    async def _offered_anywhere(self, items: Sequence[T], offer: Offer) -> list[Any]:
        """Offers all items to one node, and those that it refuses to another."""
        results: list[Any] = [nobody_leads()] * len(items)
        pending = list(range(len(items)))
        patience = Patience()
        is_first = True
        while True:
            node = self._next_node(is_first)
            if node is not None:
                answers = await asked(
                    lambda node, some: offer(self._link(node), some, ANY_REVISION, None),
                    node,
                    [items[place] for place in pending],
                )
                for place, answer in zip(pending, answers, strict=True):
                    results[place] = answer
            pending = repeatable(results, pending, idempotent=False)
            is_first = False
            if not pending or not await patience.is_left():
                return results

    def _next_node(self, is_first: bool) -> int | None:
        if is_first and self._local.state.open_partitions:
            return self._leaders.here
        nodes = self._leaders.takers()
        self._turn += 1
        return nodes[self._turn % len(nodes)] if nodes else None
