"""Keeps a controller's image up to date, and says when there is something to look at."""

import asyncio
from collections.abc import Callable, Mapping

from duolog.broker.catalog_entries import CATALOG_PREFIX
from duolog.broker.controller.image_view import ImageView
from duolog.broker.membership.entries import BROKERS_PREFIX, LOAD_PREFIX, NODES_PREFIX
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
        """Up to where each prefix was read as a whole: the watch may still bring what was
        before that."""
        self._followers = (
            self._follow(NODES_PREFIX, self.view.replay_nodes),
            self._follow(BROKERS_PREFIX, self.view.replay_brokers),
            self._follow(CATALOG_PREFIX, self.view.replay_catalog),
            # How busy nodes are is looked at now and then, not whenever it changes.
            PrefixFollower(store, LOAD_PREFIX, self.view.replay_loads),
        )

    def _follow(self, prefix: str, replay: Replay) -> PrefixFollower:
        def take_in(changes: ChangeSet) -> None:
            if changes.revision > self._read_revisions.get(prefix, 0):
                replay(changes)
                self.changed.set()

        return PrefixFollower(self._store, prefix, take_in)

    async def start(self) -> None:
        """Read everything; none of it is older than this call."""
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
        """Take in the catalog as it is now, however far the watch has come."""
        snapshot = await self._store.range(CATALOG_PREFIX)
        self._read_revisions[CATALOG_PREFIX] = snapshot.revision
        self.view.catalog_read(snapshot)
