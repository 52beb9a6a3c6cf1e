"""Keeps a controller's image of the cluster up to date, and signals changes."""

import asyncio
from collections.abc import Callable, Mapping

from duolog.broker.catalog_entries import CATALOG_PREFIX
from duolog.broker.controller.image_view import ImageView
from duolog.broker.membership.entries import (
    BROKERS_PREFIX,
    LOAD_PREFIX,
    NODES_PREFIX,
    STATEMENTS_PREFIX,
)
from duolog.broker.membership.prefix_follower import PrefixFollower
from duolog.ports.metastore import ChangeSet, MetaStore

Replay = Callable[[ChangeSet], None]


class ImageFollower:
    def __init__(self, store: MetaStore, topic_defaults: Mapping[str, str]) -> None:
        self._store = store
        self.view = ImageView(topic_defaults)
        self.changed = asyncio.Event()
        """Set by every change that may need a decision at once."""
        self._read_revisions: dict[str, int] = {}
        """Prefix → revision of its last full read; the watch may still bring older changes."""
        self._followers = (
            self._follow(NODES_PREFIX, self.view.replay_nodes),
            self._follow(BROKERS_PREFIX, self.view.replay_brokers),
            self._follow(CATALOG_PREFIX, self.view.replay_catalog),
            self._follow(STATEMENTS_PREFIX, self.view.replay_statements),
            # Load reports do not set `changed`: they are looked at periodically.
            PrefixFollower(store, LOAD_PREFIX, self.view.replay_loads),
        )

    def _follow(self, prefix: str, replay: Replay) -> PrefixFollower:
        def take_in(changes: ChangeSet) -> None:
            if changes.revision > self._read_revisions.get(prefix, 0):
                replay(changes)
                self.changed.set()

        return PrefixFollower(self._store, prefix, take_in)

    async def start(self) -> None:
        """Reads everything anew, so that nothing is older than this call, and follows it."""
        for follower in self._followers:
            await follower.start()

    async def stop(self) -> None:
        for follower in self._followers:
            await follower.stop()

    @property
    def is_following(self) -> bool:
        return all(each.task is not None and not each.task.done() for each in self._followers)

    async def read_brokers(self) -> None:
        snapshot = await self._store.range(BROKERS_PREFIX)
        self._read_revisions[BROKERS_PREFIX] = snapshot.revision
        self.view.brokers_read(snapshot)

    async def read_catalog(self) -> None:
        """Reads the whole catalog as it is now, without waiting for the watch."""
        snapshot = await self._store.range(CATALOG_PREFIX)
        self._read_revisions[CATALOG_PREFIX] = snapshot.revision
        self.view.catalog_read(snapshot)
