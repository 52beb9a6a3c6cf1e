"""Follows one prefix of the metadata store, and acts on each change in order.

One task does all of it, and is the only writer of the state that it maintains.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from duolog.broker.admission import Budget
from duolog.model.errors import RequestTimedOut
from duolog.ports.clock import Clock
from duolog.ports.metastore import (
    Change,
    ChangeSet,
    Compacted,
    MetaStore,
    Snapshot,
    StoreUnavailable,
)

_RETRY_S = 0.5
"""Pause before an unavailable store is asked again."""

C = TypeVar("C")
T = TypeVar("T")


class StoreFollower(ABC, Generic[C]):
    """Base of the followers. `C` is the type of decoded changes that `act` gets."""

    def __init__(self, store: MetaStore, prefix: str, clock: Clock | None = None) -> None:
        """`clock`: rests between acts, which are long together; None where they are few."""
        self._store = store
        self._budget = None if clock is None else Budget(clock)
        self._prefix = prefix
        self._mod_revisions: dict[str, int] = {}
        self._applied_revision = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self.elsewhere: Callable[[int], Awaitable[None]] | None = None
        """Waits until the other nodes have acted on a revision; None for a sole node."""
        self.task: asyncio.Task[None] | None = None
        """Task that follows the store. Ends by `stop`, or by a failure; then all is stale."""

    @abstractmethod
    def replay(self, changes: ChangeSet) -> Iterable[C]:
        """Applies one revision to the state; returns the changes to act on, in order."""

    @abstractmethod
    async def act(self, change: C) -> None: ...

    async def start(self) -> None:
        await self._read_all()
        self.task = asyncio.create_task(self._follow())
        self.task.add_done_callback(self._refuse_waiting)

    async def stop(self) -> None:
        if self.task is not None and self.task.cancel():
            # Awaiting it instead would take a cancellation of the caller for the task's own.
            await asyncio.wait({self.task})

    async def until(self, revision: int) -> None:
        """Waits until this node has acted on a revision, which must have changed the prefix."""
        if self._applied_revision >= revision:
            return
        if self.task is None or self.task.done():
            raise RequestTimedOut("this node no longer follows the metadata store")
        applied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((revision, applied))
        await applied

    async def until_everywhere(self, revision: int) -> None:
        """Waits until this node, and every other that answers in time, has acted on it."""
        await self.until(revision)
        if self.elsewhere is not None:
            await self.elsewhere(revision)

    async def _follow(self) -> None:
        is_behind = False
        while True:
            try:
                if is_behind:
                    await self._read_all()
                    is_behind = False
                watch = self._store.watch(self._prefix, self._applied_revision + 1)
                async for changes in watch:
                    await self._apply(changes)
            except Compacted:
                is_behind = True
            except StoreUnavailable:
                await asyncio.sleep(_RETRY_S)

    async def _read_all(self) -> None:
        await self._apply(self._difference(await self._store.range(self._prefix)))

    def _difference(self, snapshot: Snapshot) -> ChangeSet:
        """Changes from the known state to the snapshot, as if made by one transaction."""
        changes = [
            Change(entry.key, entry)
            for entry in snapshot.entries
            if self._mod_revisions.get(entry.key) != entry.mod_revision
        ]
        present = {entry.key for entry in snapshot.entries}
        changes += [Change(key, None) for key in self._mod_revisions if key not in present]
        return ChangeSet(snapshot.revision, tuple(changes))

    async def _apply(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            if change.entry is None:
                self._mod_revisions.pop(change.key, None)
            else:
                self._mod_revisions[change.key] = change.entry.mod_revision
        for meant in self.replay(changes):
            await self.act(meant)
            if self._budget is not None:
                await self._budget.rest()
        self._applied_revision = changes.revision
        for revision, applied in self._waiting:
            if revision <= changes.revision and not applied.done():
                applied.set_result(None)
        self._waiting = [each for each in self._waiting if not each[1].done()]

    def _refuse_waiting(self, task: asyncio.Task[None]) -> None:
        for _, applied in self._waiting:
            if not applied.done():
                applied.set_exception(
                    RequestTimedOut("this node stopped before it applied the change")
                )
        self._waiting.clear()


async def asked(answer: Awaitable[T]) -> T:
    """Awaits the store's answer. Without one the outcome is unknown: raises RequestTimedOut."""
    try:
        return await answer
    except StoreUnavailable as error:
        raise RequestTimedOut(f"the metadata store does not answer: {error}") from error
