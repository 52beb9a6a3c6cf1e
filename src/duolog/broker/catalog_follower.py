"""Keeps the catalog's view up to date by watching the store, and tells the listeners.

One task applies everything, in the store's order. It is the only one that changes the view.
"""

import asyncio
import contextlib
from typing import Protocol

from duolog.broker.catalog_entries import CATALOG_PREFIX, Topic
from duolog.broker.catalog_view import CatalogView, TopicChange
from duolog.model.errors import RequestTimedOut
from duolog.ports.metastore import ChangeSet, Compacted, MetaStore, StoreUnavailable

_RETRY_S = 0.5
"""How long to wait before asking an unavailable store again."""


class CatalogListener(Protocol):
    """Acts on the catalog's changes.

    It must not change the catalog itself, since that waits for the listeners. An exception
    ends the following: see `CatalogFollower.task`.
    """

    async def topic_created(self, topic: Topic) -> None:
        """Awaited before the topic can be found in the catalog."""
        ...

    async def topic_changed(self, old: Topic, new: Topic) -> None:
        """Awaited before the change can be seen in the catalog."""
        ...

    async def topic_deleted(self, topic: Topic) -> None:
        """Awaited after the topic has gone from the catalog."""
        ...


class CatalogFollower:
    def __init__(self, store: MetaStore, view: CatalogView) -> None:
        self._store = store
        self._view = view
        self._listeners: list[CatalogListener] = []
        self._applied_revision = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self.task: asyncio.Task[None] | None = None
        """Ends only by `stop` or by a listener's failure, after which the view is stale."""

    def subscribe(self, listener: CatalogListener) -> None:
        self._listeners.append(listener)

    async def start(self) -> None:
        await self._read_all()
        self.task = asyncio.create_task(self._follow())
        self.task.add_done_callback(self._refuse_waiting)

    async def stop(self) -> None:
        if self.task is not None and self.task.cancel():
            with contextlib.suppress(asyncio.CancelledError):
                await self.task

    async def until(self, revision: int) -> None:
        """Wait until a revision, which must have changed the catalog, has been acted upon."""
        if self._applied_revision >= revision:
            return
        if self.task is None or self.task.done():
            raise RequestTimedOut("this node no longer follows the metadata store")
        applied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((revision, applied))
        await applied

    async def _follow(self) -> None:
        while True:
            try:
                watch = self._store.watch(CATALOG_PREFIX, self._applied_revision + 1)
                async for changes in watch:
                    await self._apply(changes)
            except Compacted:
                await self._read_all()
            except StoreUnavailable:
                await asyncio.sleep(_RETRY_S)

    async def _read_all(self) -> None:
        await self._apply(self._view.difference(await self._store.range(CATALOG_PREFIX)))

    async def _apply(self, changes: ChangeSet) -> None:
        for change in self._view.replay(changes):
            await self._act(change)
        self._applied_revision = changes.revision
        for revision, applied in self._waiting:
            if revision <= changes.revision and not applied.done():
                applied.set_result(None)
        self._waiting = [each for each in self._waiting if not each[1].done()]

    async def _act(self, change: TopicChange) -> None:
        """Publish at the moment when the topic's partitions can be used, or before they go."""
        match change:
            case (None, Topic() as created):
                for listener in self._listeners:
                    await listener.topic_created(created)
                self._view.publish(change)
            case (Topic() as old, Topic() as new):
                for listener in self._listeners:
                    await listener.topic_changed(old, new)
                self._view.publish(change)
            case (Topic() as deleted, None):
                self._view.publish(change)
                for listener in self._listeners:
                    await listener.topic_deleted(deleted)

    def _refuse_waiting(self, task: asyncio.Task[None]) -> None:
        for _, applied in self._waiting:
            if not applied.done():
                applied.set_exception(RequestTimedOut("this node stopped before it was done"))
        self._waiting.clear()
