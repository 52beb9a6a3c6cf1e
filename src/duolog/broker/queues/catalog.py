"""The catalog of queues: look-ups in a cache, and changes as transactions on the store.

As in the catalog of topics, the cache changes only when the watch brings the transaction back,
and a call that makes a change returns after the listeners have acted on it. Callers pass the
time.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from duolog.broker.catalog_entries import Topic, topic_key
from duolog.broker.queues.catalog_entries import (
    QueueEntry,
    decode_queue,
    encode_queue,
    queue_key,
)
from duolog.broker.queues.catalog_follower import QueueFollower, QueueListener
from duolog.broker.queues.catalog_view import QueueView
from duolog.broker.store_follower import asked
from duolog.config.queue import (
    canonical_attributes,
    changed_attributes,
    differing_attribute,
    parse_queue_config,
)
from duolog.config.queue_policies import RedrivePolicy, unfit_redrive
from duolog.model.errors import RequestTimedOut
from duolog.model.names import check_queue_name, queue_arn
from duolog.model.queue_errors import (
    QueueDeletedRecently,
    QueueDoesNotExist,
    QueueNameExists,
)
from duolog.ports.clock import Clock
from duolog.ports.metastore import Compare, Delete, MetaStore, Put

__all__ = ["QueueCatalog", "QueueEntry", "QueueListener"]

_ATTEMPTS_MAX = 16
"""Attempts at a change while other nodes change the same queue."""

QueueEdit = Callable[[QueueEntry], QueueEntry]
TagEdit = Callable[[Mapping[str, str]], Mapping[str, str]]


class QueueCatalog:
    def __init__(
        self,
        store: MetaStore,
        *,
        new_id: Callable[[], uuid.UUID],
        region: str,
        account: str,
        hold_ms: int,
        clock: Clock | None = None,
    ) -> None:
        """Takes `hold_ms`, the time for which a deleted queue's name cannot be used again."""
        self._store = store
        self.new_id = new_id
        self._region = region
        self._account = account
        self._hold_ms = hold_ms
        self.check_servable: Callable[[QueueEntry], None] = lambda queue: None
        """Raises if a new queue, or new attributes of one, could not be served."""
        self._view = QueueView()
        self.follower = QueueFollower(store, self._view, clock)

    @property
    def queues(self) -> Mapping[str, QueueEntry]:
        """All existing queues, by name."""
        return self._view.queues

    @property
    def deleted(self) -> Mapping[str, QueueEntry]:
        """Deleted queues, by name, until they are removed and their names are free again."""
        return self._view.deleted

    def get(self, name: str) -> QueueEntry:
        queue = self._view.queues.get(name)
        if queue is None:
            raise _absent()
        return queue

    def subscribe(self, listener: QueueListener) -> None:
        """Adds a listener; before `start`, so that it is told of the present queues, too."""
        self.follower.subscribe(listener)

    async def start(self) -> None:
        await self.follower.start()

    async def stop(self) -> None:
        await self.follower.stop()

    async def create(
        self,
        name: str,
        attributes: Mapping[str, str],
        tags: Mapping[str, str],
        now_ms: int,
        topic: Topic | None = None,
    ) -> QueueEntry | None:
        """Creates a queue, or returns the existing one if it has all these attributes.

        Returns None if the topic of its messages has changed meanwhile, or belongs to a deleted
        queue of this name and goes with it: the caller must create another topic first.
        """
        check_queue_name(name)
        config = parse_queue_config(name, attributes)
        key = queue_key(name)
        for _ in range(_ATTEMPTS_MAX):
            present = await self.current(name)
            if present is not None:
                self._check_free(present, name, now_ms)
                if not present.is_deleted:
                    _check_same(present, attributes)
                    await self.follower.until(present.mod_revision)
                    if name in self.queues:
                        return self.queues[name]
                    continue
                if topic is not None and present.topic_id == topic.id:
                    await self.follower.until(present.mod_revision)
                    return None
            queue = QueueEntry(
                name=name,
                id=self.new_id(),
                attributes=canonical_attributes(attributes),
                config=config,
                tags=dict(tags),
                created_ms=now_ms,
                modified_ms=now_ms,
                topic_id=None if topic is None else topic.id,
            )
            self._check(queue, None)
            holds = [Compare(key, 0 if present is None else present.mod_revision)]
            if topic is not None:
                holds.append(Compare(topic_key(name), topic.mod_revision))
            if await self._commit(holds, Put(key, encode_queue(queue))):
                return self.get(name)
            if topic is not None:
                return None
        raise _contended(name)

    async def current(self, name: str) -> QueueEntry | None:
        """Reads the store's entry of this name, which may be a deleted or a colliding queue's."""
        entry = await asked(self._store.get(queue_key(name)))
        return None if entry is None else decode_queue(entry)

    def check_creatable(self, name: str, now_ms: int) -> None:
        """Refuses a name that `create` would refuse; called before a topic is made for it."""
        present = self._view.by_key(queue_key(name))
        if present is not None:
            self._check_free(present, name, now_ms)

    async def set_attributes(
        self, name: str, changes: Mapping[str, str], now_ms: int
    ) -> QueueEntry:
        """Changes these attributes, and no others; an empty text unsets one."""
        return await self._edit(name, lambda queue: self._changed(queue, changes, now_ms))

    async def edit_policy(self, name: str, edit: Callable[[str], str], now_ms: int) -> QueueEntry:
        """Replaces the access policy by `edit` of the current one; an empty text means none."""

        def edited(queue: QueueEntry) -> QueueEntry:
            return self._changed(queue, {"Policy": edit(queue.config.policy)}, now_ms)

        return await self._edit(name, edited)

    async def edit_tags(self, name: str, edit: TagEdit) -> QueueEntry:
        return await self._edit(name, lambda queue: replace(queue, tags=edit(queue.tags)))

    async def note_purged(self, name: str, now_ms: int) -> QueueEntry:
        return await self._edit(name, lambda queue: replace(queue, purged_ms=now_ms))

    async def delete(self, name: str, now_ms: int) -> QueueEntry:
        """Marks the queue as deleted and returns the entry, from now on among `deleted`."""
        key = queue_key(name)
        for _ in range(_ATTEMPTS_MAX):
            queue = self.get(name)
            deleted = replace(queue, deleted_ms=now_ms)
            holds = [Compare(key, queue.mod_revision)]
            if await self._commit(holds, Put(key, encode_queue(deleted))):
                return self.deleted.get(name, deleted)
            await self._catch_up(name)
        raise _contended(name)

    def forgettable(self, now_ms: int) -> list[QueueEntry]:
        """Deleted queues whose names may be used again, so that their entries may go."""
        return [queue for queue in self.deleted.values() if not self._is_held(queue, now_ms)]

    async def forget_deleted(self, name: str) -> None:
        """Removes the entry of a deleted queue, after everything else of it was removed."""
        queue = self.deleted.get(name)
        if queue is not None:
            key = queue_key(name)
            await self._commit([Compare(key, queue.mod_revision)], Delete(key))

    async def _edit(self, name: str, edit: QueueEdit) -> QueueEntry:
        """Replaces a queue's entry by `edit` of the current one.

        `edit` is called again if somebody else has changed it meanwhile, so that concurrent
        editors never undo each other.
        """
        key = queue_key(name)
        for _ in range(_ATTEMPTS_MAX):
            old = self.get(name)
            new = edit(old)
            if new == old:
                return old
            if await self._commit([Compare(key, old.mod_revision)], Put(key, encode_queue(new))):
                return self.get(name)
            await self._catch_up(name)
        raise _contended(name)

    def _changed(self, old: QueueEntry, changes: Mapping[str, str], now_ms: int) -> QueueEntry:
        attributes = changed_attributes(old.attributes, changes)
        if attributes == old.attributes:
            return old
        config = parse_queue_config(old.name, attributes)
        new = replace(old, attributes=attributes, config=config, modified_ms=now_ms)
        self._check(new, old)
        return new

    def _check_free(self, present: QueueEntry, name: str, now_ms: int) -> None:
        """Refuses a name that collides with another queue's, or was deleted within `hold_ms`."""
        if present.is_deleted:
            if self._is_held(present, now_ms):
                raise QueueDeletedRecently(
                    f"You must wait {self._hold_ms // 1000} seconds after deleting a queue before"
                    " you can create another with the same name."
                )
        elif present.name != name:
            raise QueueNameExists(
                f"The name collides with that of queue {present.name}: '.' and '_' are the same in"
                " the names of topics"
            )

    def _is_held(self, deleted: QueueEntry, now_ms: int) -> bool:
        return now_ms < (deleted.deleted_ms or 0) + self._hold_ms

    def _check(self, new: QueueEntry, old: QueueEntry | None) -> None:
        redrive = new.config.redrive
        if redrive is not None and (old is None or redrive != old.config.redrive):
            self._check_dead_letter_queue(new.name, redrive)
        self.check_servable(new)

    def _check_dead_letter_queue(self, source: str, redrive: RedrivePolicy) -> None:
        """Refuses an unfit dead-letter queue. Its kind was checked already, by its name."""
        target = self.queues.get(redrive.dead_letter_queue)
        if redrive.dead_letter_arn != self._arn(redrive.dead_letter_queue):
            reason = "Dead-letter target owner should be same as the source."
        elif target is None:
            reason = "Dead letter target does not exist."
        elif target.config.source_topic is not None:
            reason = "Dead letter target has no messages of its own: it reads a topic."
        elif (allow := target.config.redrive_allow) and not allow.permits(source):
            reason = "Dead letter target does not allow this queue as a source."
        else:
            return
        raise unfit_redrive(str(redrive), reason)

    def _arn(self, queue: str) -> str:
        return queue_arn(queue, self._region, self._account)

    async def _commit(self, holds: Sequence[Compare], operation: Put | Delete) -> bool:
        """Commits, and waits until every node has acted on it; False if a condition fails."""
        result = await asked(self._store.transact(holds, [operation]))
        if result.committed:
            await self.follower.until_everywhere(result.revision)
        return result.committed

    async def _catch_up(self, name: str) -> None:
        """Waits until this node has seen the queue's newest change, which outran its own."""
        queue = await self.current(name)
        if queue is None:
            raise _absent()
        await self.follower.until(queue.mod_revision)


def _check_same(queue: QueueEntry, attributes: Mapping[str, str]) -> None:
    if differs := differing_attribute(queue.config, attributes):
        raise QueueNameExists(
            "A queue already exists with the same name and a different value for attribute"
            f" {differs}"
        )


def _absent() -> QueueDoesNotExist:
    return QueueDoesNotExist("The specified queue does not exist.")


def _contended(name: str) -> RequestTimedOut:
    return RequestTimedOut(f"queue '{name}' is being changed by others too often")
