"""Sends to a queue that several nodes lead.

A message of a standard queue goes to a partition that is led here, if there is one, and to
any leader otherwise. One of a FIFO queue goes by its group; while some of the group may still
be where it went before the queue had so many partitions, those are asked first.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.routing.leaders import Leaders
from duolog.broker.queues.routing.links import QueueLink
from duolog.broker.queues.routing.scattering import (
    Patience,
    asked,
    may_repeat,
    nobody_leads,
    scatter,
)
from duolog.broker.queues.sending import Sent
from duolog.core.queues.message import Outgoing, group_of
from duolog.model.errors import Refusal
from duolog.records.record import Record

T = TypeVar("T")

Offer = Callable[[QueueLink, Sequence[Any], int | None], Coroutine[Any, Any, Sequence[Any]]]
"""To a node; the last is a partition of its, if that takes only what it knows already. Falsy
where it does not."""


class RoutedSending:
    def __init__(self, local: Queue, leaders: Leaders, link: Callable[[int], QueueLink]) -> None:
        self._local = local
        self._leaders = leaders
        self._link = link
        self._turn = 0

    async def send(self, messages: Sequence[Outgoing]) -> list[Sent | Refusal]:
        return await self._offered(
            messages,
            lambda message: (message.group_id or "").encode(),
            lambda link, some, known_in: link.send(some, known_in=known_in),
        )

    async def accept(self, records: Sequence[Record]) -> None:
        """Refusal unless all are there; some may be all the same."""
        results = await self._offered(
            records,
            lambda record: group_of(record, fifo=True) or b"",
            lambda link, some, known_in: link.accept(some, known_in=known_in),
        )
        for result in results:
            if isinstance(result, Refusal):
                raise result

    async def _offered(
        self, items: Sequence[T], group_of: Callable[[T], bytes], offer: Offer
    ) -> list[Any]:
        if not self._local.config.fifo:
            return await self._offered_anywhere(items, offer)
        results: list[Any] = [None] * len(items)
        await self._join_groups(items, group_of, offer, results)
        places = [place for place, result in enumerate(results) if not result]
        sent = await scatter(
            [items[place] for place in places],
            lambda item: self._leaders.of_group(group_of(item)),
            lambda node, some: offer(self._link(node), some, None),
            idempotent=True,
        )
        for place, result in zip(places, sent, strict=True):
            results[place] = result
        return results

    async def _join_groups(
        self,
        items: Sequence[T],
        group_of: Callable[[T], bytes],
        offer: Offer,
        results: list[Any],
    ) -> None:
        """Send what follows its group, or is a repetition, to where the group was before."""
        by_partition: dict[int, list[int]] = {}
        for place, item in enumerate(items):
            for index in self._leaders.earlier(group_of(item)):
                by_partition.setdefault(index, []).append(place)
        for index, places in by_partition.items():
            left = [place for place in places if not results[place]]
            answers = await scatter(
                [items[place] for place in left],
                partial(self._leader_of, index),
                partial(self._offer_known, offer, index),
                idempotent=True,
            )
            for place, answer in zip(left, answers, strict=True):
                results[place] = answer

    async def _offer_known(
        self, offer: Offer, index: int, node: int, some: Sequence[Any]
    ) -> Sequence[Any]:
        return await offer(self._link(node), some, index)

    def _leader_of(self, index: int, item: object) -> int | None:
        return self._leaders.of(index)

    async def _offered_anywhere(self, items: Sequence[T], offer: Offer) -> list[Any]:
        """All to one node, and what it does not take to another one."""
        results: list[Any] = [nobody_leads()] * len(items)
        pending = list(range(len(items)))
        patience = Patience()
        is_first = True
        while True:
            node = self._next_node(is_first)
            if node is not None:
                answers = await asked(
                    lambda node, some: offer(self._link(node), some, None),
                    node,
                    [items[place] for place in pending],
                )
                for place, answer in zip(pending, answers, strict=True):
                    results[place] = answer
            pending = [
                place
                for place in pending
                if isinstance(results[place], Refusal)
                and may_repeat(results[place], idempotent=False)
            ]
            is_first = False
            if not pending or not await patience.is_left():
                return results

    def _next_node(self, is_first: bool) -> int | None:
        if is_first and self._local.partitions:
            return self._leaders.here
        nodes = self._leaders.nodes()
        self._turn += 1
        return nodes[self._turn % len(nodes)] if nodes else None
