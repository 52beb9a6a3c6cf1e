"""The move tasks of all nodes, as the metadata store has them.

    queue-moves/<source>/<handle>    what is to be moved, by which rate, and how far it is

Each node follows them; the one that leads the source's first partition carries them out.
"""

from collections.abc import Callable, Iterator

import msgspec

from duolog.broker.store_follower import StoreFollower, asked
from duolog.ports.metastore import ChangeSet, Compare, Delete, MetaStore, Put

PREFIX = "queue-moves/"

RUNNING = "RUNNING"
CANCELLING = "CANCELLING"


class MoveTask(msgspec.Struct):
    handle: str
    source: str
    destination: str | None
    """None: each message goes back to the queue from which it came."""
    rate: int | None
    """Messages a second."""
    started_ms: int
    to_move: int
    moved: int = 0
    status: str = RUNNING
    failure: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status not in (RUNNING, CANCELLING)


_decode = msgspec.json.Decoder(MoveTask).decode


class MoveBoard(StoreFollower[str]):
    """What a change means: the key of a task that is other than it was, or gone."""

    def __init__(self, store: MetaStore, on_change: Callable[[str], None]) -> None:
        super().__init__(store, PREFIX)
        self._on_change = on_change
        self._tasks: dict[str, tuple[MoveTask, int]] = {}
        """By key, with the revision that last wrote it."""

    def replay(self, changes: ChangeSet) -> Iterator[str]:
        for change in changes.changes:
            if change.entry is None:
                self._tasks.pop(change.key, None)
            else:
                task = _decode(change.entry.value)
                self._tasks[change.key] = task, change.entry.mod_revision
            yield change.key

    async def act(self, change: str) -> None:
        self._on_change(change)

    def all(self) -> list[MoveTask]:
        return [task for task, _ in self._tasks.values()]

    def of(self, source: str) -> list[MoveTask]:
        return [task for task in self.all() if task.source == source]

    def get(self, key: str) -> MoveTask | None:
        task, _ = self._tasks.get(key, (None, 0))
        return task

    def find(self, handle: str) -> MoveTask | None:
        return next((task for task in self.all() if task.handle == handle), None)

    async def write(self, task: MoveTask) -> bool:
        """Replace what is known of the task; False if it is not that any more."""
        key = key_of(task)
        return await self._commit(key, Put(key, msgspec.json.encode(task)))

    async def remove(self, task: MoveTask) -> None:
        key = key_of(task)
        while key in self._tasks and not await self._commit(key, Delete(key)):
            # It was changed a moment ago.
            continue

    async def _commit(self, key: str, operation: Put | Delete) -> bool:
        _, revision = self._tasks.get(key, (None, 0))
        result = await asked(self._store.transact([Compare(key, revision)], [operation]))
        if result.committed:
            await self.until(result.revision)
        elif (entry := await asked(self._store.get(key))) is not None:
            await self.until(entry.mod_revision)
        return result.committed


def key_of(task: MoveTask) -> str:
    return f"{PREFIX}{task.source}/{task.handle}"
