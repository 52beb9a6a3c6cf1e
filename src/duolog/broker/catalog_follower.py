"""Keeps the catalog's view up to date by watching the store, and calls the listeners."""

from typing import Protocol

from duolog.broker.catalog_entries import CATALOG_PREFIX, Topic
from duolog.broker.catalog_view import CatalogView, PartitionChange, TopicChange
from duolog.broker.store_follower import StoreFollower
from duolog.model.partition_state import PartitionEntry
from duolog.ports.clock import Clock
from duolog.ports.metastore import ChangeSet, MetaStore


class CatalogListener(Protocol):
    """Acts on the catalog's changes.

    It must not change the catalog itself, since that waits for the listeners. An exception
    ends the following: see `StoreFollower.task`.
    """

    async def topic_created(self, topic: Topic) -> None:
        """Called and awaited before the topic can be found in the catalog."""
        ...

    async def topic_changed(self, old: Topic, new: Topic) -> None:
        """Called and awaited before the change can be seen in the catalog."""
        ...

    async def topic_deleted(self, topic: Topic) -> None:
        """Called and awaited after the topic has gone from the catalog."""
        ...

    async def partition_changed(self, topic: Topic, index: int, entry: PartitionEntry) -> None:
        """Called and awaited after the catalog shows the partition's new state."""
        ...


class CatalogFollower(StoreFollower[TopicChange | PartitionChange]):
    def __init__(self, store: MetaStore, view: CatalogView, clock: Clock | None) -> None:
        super().__init__(store, CATALOG_PREFIX, clock)
        self._view = view
        self._listeners: list[CatalogListener] = []

    def subscribe(self, listener: CatalogListener) -> None:
        self._listeners.append(listener)

    def replay(self, changes: ChangeSet) -> list[TopicChange | PartitionChange]:
        return self._view.replay(changes)

    async def act(self, change: TopicChange | PartitionChange) -> None:
        """Calls the listeners; publishes a topic after its creation, hides it before deletion."""
        match change:
            case PartitionChange():
                await self._partition_changed(change)
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

    async def _partition_changed(self, change: PartitionChange) -> None:
        topic = self._view.by_id(change.topic_id)
        entry = self._view.state(change.topic_id, change.index)
        if topic is None or entry is None or change.index >= topic.partitions:
            # The topic, or this partition of it, is still being created or already deleted.
            return
        for listener in self._listeners:
            await listener.partition_changed(topic, change.index, entry)
