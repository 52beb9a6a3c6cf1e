"""Receives from a queue that several nodes lead.

Asks the nodes one after the other, so that no messages are handed out in excess. Long polls are
parked here, and this node keeps one watch at each leader on behalf of all of them: when a leader
has messages, the longest-waiting receive asks it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from duolog.broker.queues.receiving import Received
from duolog.broker.queues.routing.leaders import Leaders
from duolog.broker.queues.routing.links import QueueLink
from duolog.broker.queues.routing.scattering import (
    PAUSE_SECONDS_MAX,
    Patience,
    failed,
    is_unknown,
    nobody_leads,
)
from duolog.model.errors import NotLeader, Refusal

WATCH_MS = 5_000
"""Length of one watch, after which the leaders are looked up again."""
PARKED_MAX = 100_000

ReceiveDone = Callable[[list[Received] | Refusal], None]


class RoutedReceive:
    """One receive request, answered by `done`."""

    def __init__(
        self, count: int, visibility_ms: int | None, attempt: str | None, done: ReceiveDone
    ) -> None:
        self.count = count
        self.visibility_ms = visibility_ms
        self.attempt = attempt
        self.done = done
        self.task: asyncio.Task[None]

    def abandon(self) -> None:
        """Gives up the receive, since its client has gone; its messages go to others."""
        self.task.cancel()


class RoutedReceiving:
    __slots__ = ("_leaders", "_link", "_parked", "_turn", "_watches")

    def __init__(self, leaders: Leaders, link: Callable[[int], QueueLink]) -> None:
        self._leaders = leaders
        self._link = link
        self._parked: OrderedDict[asyncio.Future[int], None] = OrderedDict()
        """Parked receives, longest waiting first; each resolves to a node with messages."""
        self._watches: dict[int, asyncio.Task[None]] = {}
        self._turn = 0

    @property
    def parked(self) -> int:
        return len(self._parked)

    def receive(self, receive: RoutedReceive, wait_ms: int) -> None:
        receive.task = asyncio.ensure_future(self._answer(receive, wait_ms))

    def refuse(self, refusal: Refusal) -> None:
        """Ends all watches and refuses all parked receives."""
        self._end_watches()
        while self._parked:
            woken, _ = self._parked.popitem()
            if not woken.done():
                woken.set_exception(refusal)

    def _end_watches(self) -> None:
        while self._watches:
            self._watches.popitem()[1].cancel()

    async def _answer(self, receive: RoutedReceive, wait_ms: int) -> None:
        try:
            found = await self._receive(receive, wait_ms)
        except Refusal as refusal:
            receive.done(refusal)
        except Exception as error:
            # A bug: logged, and reported to the caller, who must not wait for ever.
            receive.done(failed(error))
        else:
            receive.done(found)

    async def _receive(self, receive: RoutedReceive, wait_ms: int) -> list[Received]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + wait_ms / 1000
        found = await self._first_look(receive)
        while not found and loop.time() < ends and len(self._parked) < PARKED_MAX:
            node = await self._woken(ends - loop.time())
            if node is None:
                break
            found = await self._look(node, receive)
        return found

    async def _first_look(self, receive: RoutedReceive) -> list[Received]:
        """Asks all leaders once, retrying for as long as a fail-over takes; raises Refusal if
        none could be asked."""
        patience = Patience()
        while True:
            try:
                return await self._look_everywhere(receive)
            except NotLeader as refusal:
                if is_unknown(refusal) or not await patience.is_left():
                    raise

    async def _look_everywhere(self, receive: RoutedReceive) -> list[Received]:
        nodes = self._leaders.nodes()
        if receive.attempt and len(nodes) > 1:
            # The node that answered the same attempt id before must answer again.
            for node in nodes:
                if found := await self._ask(node, receive, only_known=True):
                    return found
        failure: Refusal | None = nobody_leads()
        for node in self._in_turn(nodes):
            try:
                if found := await self._ask(node, receive):
                    return found
                failure = None
            except Refusal as refusal:
                # Kept only while no node has answered: an empty answer is an answer, too.
                failure = failure and refusal
        if failure is not None:
            raise failure
        return []

    def _in_turn(self, nodes: list[int]) -> list[int]:
        """Orders the nodes: this one first, if it leads something, the others rotated."""
        here, others = [], nodes
        if nodes and nodes[0] == self._leaders.here:
            here, others = nodes[:1], nodes[1:]
        if len(others) > 1:
            self._turn += 1
            first = self._turn % len(others)
            others = others[first:] + others[:first]
        return here + others

    async def _look(self, node: int, receive: RoutedReceive) -> list[Received]:
        """Asks a node that has messages, after being woken; on success wakes the next receive."""
        try:
            found = await self._ask(node, receive)
        except Refusal as refusal:
            if is_unknown(refusal):
                raise
            found = []
            await asyncio.sleep(PAUSE_SECONDS_MAX)
        except asyncio.CancelledError:
            self._wake(node)
            raise
        if found:
            self._wake(node)
        else:
            self._watch_all()
        return found

    async def _ask(
        self, node: int, receive: RoutedReceive, *, only_known: bool = False
    ) -> list[Received]:
        return await self._link(node).receive(
            receive.count, receive.visibility_ms, receive.attempt, only_known=only_known
        )

    async def _woken(self, seconds: float) -> int | None:
        """Parks until a node has messages, and returns it; None after the time-out."""
        woken: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._parked[woken] = None
        self._watch_all()
        try:
            await asyncio.wait((woken,), timeout=seconds)
        except asyncio.CancelledError:
            if woken.done() and woken.exception() is None:
                self._wake(woken.result())
            raise
        finally:
            self._parked.pop(woken, None)
            if not self._parked:
                self._end_watches()
        return woken.result() if woken.done() else None

    def _wake(self, node: int) -> None:
        while self._parked:
            woken, _ = self._parked.popitem(last=False)
            if not woken.done():
                woken.set_result(node)
                return

    def _watch_all(self) -> None:
        if not self._parked:
            return
        for node in self._leaders.nodes():
            if node not in self._watches:
                self._watches[node] = asyncio.ensure_future(self._watch(node))

    async def _watch(self, node: int) -> None:
        has_something = False
        try:
            has_something = await self._link(node).watch(WATCH_MS)
        except Refusal:
            await asyncio.sleep(PAUSE_SECONDS_MAX)
        # From here on, a new watch of this node may start.
        del self._watches[node]
        if has_something:
            self._wake(node)
        else:
            self._watch_all()
