"""One process's watch on a prefix of the store: changes arrive late, or wait for a cut to heal."""

import asyncio
from collections import deque

from duolog.ports.metastore import ChangeSet, Compacted
from duolog.sim.links import Links
from duolog.sim.loop import ProcessLoop
from duolog.sim.store_server import STORE, StoreServer


class StoreWatch:
    def __init__(
        self,
        server: StoreServer,
        links: Links,
        machine: str,
        loop: ProcessLoop,
        prefix: str,
        from_revision: int,
    ) -> None:
        self._server = server
        self._links = links
        self._machine = machine
        self._loop = loop
        self._prefix = prefix
        self._next_revision = from_revision
        self.arrived: deque[ChangeSet] = deque()
        self.failure: Exception | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._is_coming = False
        server.on_change[self._changed] = None
        self._changed()

    async def wait(self) -> None:
        if not self.arrived and self.failure is None:
            self._waiting = self._loop.create_future()
            await self._waiting

    def fail(self, failure: Exception) -> None:
        self.failure = failure
        self._wake()

    def close(self) -> None:
        self._server.on_change.pop(self._changed, None)

    def _changed(self) -> None:
        if self._loop.is_dead:
            self.close()
        elif not self._is_coming and self._has_news():
            self._is_coming = True
            delay_ns = self._links.latency_ns(STORE, self._machine)
            self._loop.world.after(delay_ns, self._arrive, loop=self._loop)

    def _has_news(self) -> bool:
        """True if something is to be sent.

        Advances past revisions that do not concern the prefix, as long as the store can be asked
        for them.
        """
        if self._is_cut_off() or not self._server.is_available:
            return self._next_revision <= self._server.revision
        try:
            history = self._server.history(self._next_revision)
        except Compacted:
            return True
        for change_set in history:
            if any(each.key.startswith(self._prefix) for each in change_set.changes):
                return True
            self._next_revision = change_set.revision + 1
        return False

    def _is_cut_off(self) -> bool:
        links, machine = self._links, self._machine
        return links.is_cut(STORE, machine) or links.is_cut(machine, STORE)

    def _arrive(self) -> None:
        self._is_coming = False
        if self._is_cut_off():
            self._links.when_mended(self._changed)
            return
        if not self._server.is_available:
            return
        try:
            history = self._server.history(self._next_revision)
        except Compacted as compacted:
            self.fail(compacted)
            self.close()
            return
        self._next_revision = self._server.revision + 1
        for change_set in history:
            changes = change_set.changes
            mine = tuple(each for each in changes if each.key.startswith(self._prefix))
            if mine:
                self.arrived.append(ChangeSet(change_set.revision, mine))
        if self.arrived:
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
