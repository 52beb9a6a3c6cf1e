"""Follows one prefix of the store and passes each revision to a view."""

from collections.abc import Callable

from duolog.broker.store_follower import StoreFollower
from duolog.ports.metastore import ChangeSet, MetaStore


class PrefixFollower(StoreFollower[ChangeSet]):
    """A store follower for views that apply a revision synchronously."""

    def __init__(self, store: MetaStore, prefix: str, take_in: Callable[[ChangeSet], None]) -> None:
        super().__init__(store, prefix)
        self._take_in = take_in

    def replay(self, changes: ChangeSet) -> tuple[ChangeSet, ...]:
        return (changes,)

    async def act(self, change: ChangeSet) -> None:
        self._take_in(change)
