"""Keeps the view of the queues up to date by watching the store, and calls the listeners."""

from typing import Protocol

from duolog.broker.queues.catalog_entries import QUEUES_PREFIX, QueueEntry
from duolog.broker.queues.catalog_view import QueueChange, QueueView
from duolog.broker.store_follower import StoreFollower
from duolog.ports.clock import Clock
from duolog.ports.metastore import ChangeSet, MetaStore


class QueueListener(Protocol):
    """Acts on the changes of queues.

    It must not change the queues' catalog itself, since that waits for the listeners; topics
    it may change. An exception ends the following: see `StoreFollower.task`.
    """

    async def queue_created(self, queue: QueueEntry) -> None:
        """Called and awaited before the queue can be found in the catalog."""
        ...

    async def queue_changed(self, old: QueueEntry, new: QueueEntry) -> None:
        """Called and awaited before the change can be seen in the catalog."""
        ...

    async def queue_deleted(self, queue: QueueEntry) -> None:
        """Called and awaited after the queue has gone from the catalog."""
        ...


class QueueFollower(StoreFollower[QueueChange]):
    def __init__(self, store: MetaStore, view: QueueView, clock: Clock | None) -> None:
        super().__init__(store, QUEUES_PREFIX, clock)
        self._view = view
        self._listeners: list[QueueListener] = []

    def subscribe(self, listener: QueueListener) -> None:
        self._listeners.append(listener)

    def replay(self, changes: ChangeSet) -> list[QueueChange]:
        return self._view.replay(changes)

    async def act(self, change: QueueChange) -> None:
        """Calls the listeners; publishes a queue after its creation, hides it before deletion."""
        old, new = (_living(queue) for queue in change)
        if new is not None:
            for listener in self._listeners:
                if old is None:
                    await listener.queue_created(new)
                else:
                    await listener.queue_changed(old, new)
        self._view.publish(change)
        if old is not None and new is None:
            for listener in self._listeners:
                await listener.queue_deleted(change[1] or old)


def _living(queue: QueueEntry | None) -> QueueEntry | None:
    return None if queue is None or queue.is_deleted else queue
