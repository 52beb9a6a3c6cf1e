"""The move tasks of all nodes, stored in the metadata store.

    queue-moves/<source>/<handle>    a task: source, destination, rate, progress
    queue-moving/<source>            the handle of the source's active task

Every node follows them; the leader of the source's first partition runs them. The second key
exists while a task is active, so that of two nodes that begin one at once only one succeeds.
"""

from collections.abc import Callable, Iterator

import msgspec

from duolog.broker.store_follower import StoreFollower, asked
from duolog.ports.metastore import ChangeSet, Compare, Delete, MetaStore, Put

PREFIX = "queue-moves/"
ACTIVE_PREFIX = "queue-moving/"

RUNNING = "RUNNING"
CANCELLING = "CANCELLING"


class MoveTask(msgspec.Struct):
    handle: str
    source: str
    destination: str | None
    """Destination queue; None: each message goes back to the queue that it came from."""
    rate: int | None
    """Messages per second; None: unlimited."""
    started_ms: int
    to_move: int
    source_id: str = ""
    """Id of the source queue; a later queue of its name is not meant."""
    moved: int = 0
    status: str = RUNNING
    failure: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status not in (RUNNING, CANCELLING)


_decode = msgspec.json.Decoder(MoveTask).decode


class MoveBoard(StoreFollower[str]):
    """Follows the tasks; calls `on_change` with the key of each changed or removed task."""

    def __init__(self, store: MetaStore, on_change: Callable[[str], None]) -> None:
        super().__init__(store, PREFIX)
        self._on_change = on_change
        self._tasks: dict[str, tuple[MoveTask, int]] = {}
        """Tasks by key, with their mod-revisions."""

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

    async def begin(self, task: MoveTask) -> bool:
        """Writes a new task; False if the source has an active one."""
        key, active = key_of(task), active_key(task)
        return await self._commit(
            key,
            [Compare(key, 0), Compare(active, 0)],
            [Put(key, msgspec.json.encode(task)), Put(active, task.handle.encode())],
        )

    async def write(self, task: MoveTask) -> bool:
        """Replaces a task; False if it has changed since this node last saw it."""
        key = key_of(task)
        known, revision = self._tasks.get(key, (None, 0))
        operations: list[Put | Delete] = [Put(key, msgspec.json.encode(task))]
        if task.is_over and known is not None and not known.is_over:
            operations.append(Delete(active_key(task)))
        return await self._commit(key, [Compare(key, revision)], operations)

    async def remove(self, task: MoveTask) -> None:
        key = key_of(task)
        while key in self._tasks:
            known, revision = self._tasks[key]
            operations: list[Put | Delete] = [Delete(key)]
            if not known.is_over:
                operations.append(Delete(active_key(task)))
            # Tried again if the task has changed meanwhile.
            if await self._commit(key, [Compare(key, revision)], operations):
                return

    async def _commit(self, key: str, holds: list[Compare], operations: list[Put | Delete]) -> bool:
        result = await asked(self._store.transact(holds, operations))
        if result.committed:
            await self.until(result.revision)
        elif (entry := await asked(self._store.get(key))) is not None:
            await self.until(entry.mod_revision)
        return result.committed


def key_of(task: MoveTask) -> str:
    return f"{PREFIX}{task.source}/{task.handle}"


def active_key(task: MoveTask) -> str:
    return ACTIVE_PREFIX + task.source
