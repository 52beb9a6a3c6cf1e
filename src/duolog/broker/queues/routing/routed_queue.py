"""A queue whose partitions several nodes lead, as this node's APIs use it.

Has the methods of Queue. If this node leads all partitions, the APIs use the Queue itself,
without this indirection.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.commits import Settled
from duolog.broker.queues.peeking import Page
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_state import gone
from duolog.broker.queues.receiving import Received
from duolog.broker.queues.routing.leaders import Leaders
from duolog.broker.queues.routing.links import QueueLink
from duolog.broker.queues.routing.routed_receiving import RoutedReceive, RoutedReceiving
from duolog.broker.queues.routing.routed_sending import RoutedSending
from duolog.broker.queues.routing.scattering import failed, nobody_leads, scatter
from duolog.broker.queues.sending import Sent
from duolog.config.queue import QueueConfig
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.model.queue_errors import InvalidParameterValue
from duolog.records.record import Record

SettleDone = Callable[[list[Refusal | None] | Refusal], None]


class RoutedQueue:
    __slots__ = ("_leaders", "_link", "_local", "_receiving", "_sending", "_tasks")

    def __init__(self, local: Queue, leaders: Leaders, link: Callable[[int], QueueLink]) -> None:
        self._local = local
        self._leaders = leaders
        self._link = link
        self._sending = RoutedSending(local, leaders, link)
        self._receiving = RoutedReceiving(leaders, link)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def entry(self) -> QueueEntry:
        return self._local.entry

    @property
    def config(self) -> QueueConfig:
        return self._local.config

    @property
    def topic_name(self) -> str:
        return self._local.topic_name

    @property
    def parked(self) -> int:
        return self._receiving.parked + self._local.parked

    def send(
        self,
        messages: Sequence[Outgoing],
        done: Callable[[list[Sent | Refusal] | Refusal], None],
    ) -> None:
        """Sends messages; answers with a result for each, once all are committed."""
        self._spawn(self._sending.send(messages), done)

    def accept(self, records: Sequence[Record], done: Settled) -> None:
        """Appends messages moved from another queue; a FIFO queue drops duplicates."""
        self._spawn(self._sending.accept(records), done)

    def receive(
        self,
        *,
        count: int,
        wait_ms: int,
        visibility_ms: int | None,
        attempt: str | None,
        done: Callable[[list[Received] | Refusal], None],
    ) -> RoutedReceive:
        """Receives up to `count` messages; answers empty after `wait_ms` without any."""
        receive = RoutedReceive(count, visibility_ms, attempt, done)
        self._receiving.receive(receive, wait_ms)
        return receive

    def delete(self, handles: Sequence[str], done: SettleDone) -> None:
        """Deletes messages; answers with a result per handle, once all deletions are committed."""
        self._spawn(
            self._settled(
                handles, lambda handle: handle, lambda link, some: self._link(link).delete(some)
            ),
            done,
        )

    def change_visibility(self, changes: Sequence[tuple[str, int]], done: SettleDone) -> None:
        """Changes visibility time-outs, in ms from now; zero makes a message visible at once."""
        self._spawn(
            self._settled(
                changes,
                lambda change: change[0],
                lambda link, some: self._link(link).change_visibility(some),
            ),
            done,
        )

    async def _settled(
        self,
        items: Sequence[Any],
        handle_of: Callable[[Any], str],
        ask: Callable[[int, Sequence[Any]], Coroutine[Any, Any, list[Refusal | None]]],
    ) -> list[Refusal | None]:
        results: list[Refusal | None] = [None] * len(items)
        places = []
        partitions = []
        for place, item in enumerate(items):
            try:
                receipt = self._local.state.receipts.decode(handle_of(item))
            except Refusal as refusal:
                results[place] = refusal
                continue
            # Not checked here: a partition unknown to this node may have just been added.
            places.append(place)
            partitions.append((receipt.partition, item))
        settled = await scatter(
            partitions,
            lambda each: self._leaders.of(each[0]),
            lambda node, some: ask(node, [item for _, item in some]),
            idempotent=True,
        )
        for place, result in zip(places, settled, strict=True):
            results[place] = result
        return results

    async def of_each(
        self, ask: Callable[[QueueLink, Sequence[int]], Coroutine[Any, Any, Sequence[Any]]]
    ) -> list[Any]:
        """Collects the answer of each partition's leader. `ask` must be idempotent."""
        answers: list[Any] = await scatter(
            range(self._leaders.partitions),
            self._leaders.of,
            lambda node, partitions: ask(self._link(node), partitions),
            idempotent=True,
        )
        for answer in answers:
            if isinstance(answer, Refusal):
                raise answer
        return answers

    async def look(
        self, *, partition: int, from_offset: int, limit: int, state: str | None
    ) -> Page:
        last = self._leaders.partitions - 1
        if not 0 <= partition <= last:
            raise InvalidParameterValue(f"The last partition of the queue is {last}.")
        node = self._leaders.of(partition)
        if node is None:
            raise nobody_leads()
        return await self._link(node).look(partition, from_offset, limit, state)

    def links(self) -> list[QueueLink]:
        return [self._link(node) for node in self._leaders.nodes()]

    def close(self) -> None:
        """Refuses all pending requests: the queue was deleted, or the node stops."""
        self._receiving.refuse(gone())
        for task in list(self._tasks):
            task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, Any], done: Callable[[Any], None]) -> None:
        task = asyncio.ensure_future(_told(work, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _told(work: Coroutine[Any, Any, Any], done: Callable[[Any], None]) -> None:
    try:
        result = await work
    except Refusal as refusal:
        done(refusal.with_traceback(None))
    except asyncio.CancelledError:
        done(gone())
        raise
    except Exception as error:
        # A bug: logged, and reported to the caller, who must not wait for ever.
        done(failed(error))
    else:
        done(result)
