"""Tasks that move the messages of a dead-letter queue back, or elsewhere.

A task is an entry in the metadata store, so that it goes on after a restart. A message is
hidden from consumers while it is moved; it appears in its destination before it goes from
its source.
"""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from duolog.broker.queues.moving import move_messages
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.changes import VisibilityChanged
from duolog.core.queues.message import source_of
from duolog.model.errors import Refusal, RequestTimedOut
from duolog.model.queue_errors import (
    InvalidParameterValue,
    ResourceNotFound,
    UnsupportedOperation,
)
from duolog.observe.logs import get_logger
from duolog.ports.metastore import Delete, MetaStore, Put, StoreUnavailable

PREFIX = "queue-moves/"
KEPT_PER_SOURCE = 10
"""Finished tasks that can still be listed, as in SQS."""
TOGETHER_MAX = 100
STEP_SECONDS = 0.1
HIDDEN_MS = 60_000
"""How long a message stays hidden when moving it takes that long; then others may have it."""
SAVE_MS = 1_000

log = get_logger("queues")


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
    status: str = "RUNNING"
    failure: str | None = None


class QueueFinder(Protocol):
    def get(self, name: str) -> Queue: ...

    def find(self, name: str) -> Queue | None: ...

    def dead_letter_sources(self, name: str, after: str, limit: int) -> list[str]: ...

    async def journaled(self, queue: Queue) -> None: ...


class MoveTasks:
    def __init__(self, queues: QueueFinder, store: MetaStore, now_ms: Callable[[], int]) -> None:
        self._queues = queues
        self._store = store
        self._now_ms = now_ms
        self._tasks: dict[str, MoveTask] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def resume(self) -> None:
        """Go on with what a stop has interrupted."""
        decoder = msgspec.json.Decoder(MoveTask)
        for entry in (await self._store.range(PREFIX)).entries:
            task = decoder.decode(entry.value)
            self._tasks[task.handle] = task
            if task.status == "RUNNING":
                self._launch(task)

    async def stop(self) -> None:
        for running in list(self._running.values()):
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def start(self, source: str, destination: str | None, rate: int | None) -> str:
        queue = self._queues.get(source)
        if not self._queues.dead_letter_sources(source, "", 1):
            raise InvalidParameterValue("Source queue must be configured as a Dead Letter Queue.")
        if destination == source:
            raise InvalidParameterValue("A queue's messages cannot be moved to itself.")
        if destination is not None and self._queues.get(destination).config.fifo != (
            queue.config.fifo
        ):
            raise UnsupportedOperation("Both queues must be of the same type.")
        if any(each.source == source and each.status == "RUNNING" for each in self.all()):
            raise UnsupportedOperation(
                "There is already a task running. Only one active task is allowed for a source"
                " queue arn at a given time."
            )
        task = MoveTask(
            handle=uuid.uuid4().hex,
            source=source,
            destination=destination,
            rate=rate,
            started_ms=self._now_ms(),
            to_move=queue.counts().ready,
        )
        self._tasks[task.handle] = task
        await self._save(task)
        await self._forget_old(source)
        self._launch(task)
        return task.handle

    async def cancel(self, handle: str) -> int:
        """How many messages had been moved."""
        task = self._tasks.get(handle)
        running = self._running.get(handle)
        if task is None or running is None:
            raise ResourceNotFound("The task does not exist, or does not run any more.")
        # Not in the middle of a step: what is on its way arrives, and is counted.
        task.status = "CANCELLING"
        await asyncio.wait({running})
        return task.moved

    def list(self, source: str, limit: int) -> Sequence[MoveTask]:
        """The latest first."""
        tasks = [task for task in self.all() if task.source == source]
        return sorted(tasks, key=lambda task: -task.started_ms)[:limit]

    def all(self) -> Sequence[MoveTask]:
        return tuple(self._tasks.values())

    async def queue_deleted(self, name: str) -> None:
        for task in self.all():
            if task.source == name:
                if running := self._running.get(task.handle):
                    running.cancel()
                await self._forget(task)

    def _launch(self, task: MoveTask) -> None:
        running = asyncio.ensure_future(self._run(task))
        self._running[task.handle] = running
        running.add_done_callback(lambda _: self._running.pop(task.handle, None))

    async def _run(self, task: MoveTask) -> None:
        saved_ms = self._now_ms()
        loop = asyncio.get_running_loop()
        try:
            begun = loop.time()
            begun_with = task.moved
            while task.moved < task.to_move and task.status == "RUNNING":
                count = TOGETHER_MAX
                if task.rate is not None:
                    allowed = begun_with + int((loop.time() - begun) * task.rate) + 1
                    count = min(count, allowed - task.moved)
                    if count <= 0:
                        await asyncio.sleep(STEP_SECONDS)
                        continue
                moved = await self._step(task, min(count, task.to_move - task.moved))
                if not moved:
                    break
                task.moved += moved
                if self._now_ms() - saved_ms >= SAVE_MS:
                    saved_ms = self._now_ms()
                    await self._save(task)
                await asyncio.sleep(0)
            task.status = "CANCELLED" if task.status == "CANCELLING" else "COMPLETED"
        except Refusal as refusal:
            task.status = "FAILED"
            task.failure = str(refusal)
            log.error("a message move failed", queue=task.source, error=str(refusal))
        await self._save(task)

    async def _step(self, task: MoveTask, count: int) -> int:
        """Move some messages; how many that were."""
        queue = self._queues.get(task.source)
        # Again: it may have got more partitions.
        await self._queues.journaled(queue)
        now_ms = self._now_ms()
        for partition in queue.partitions:
            offsets = partition.delivery.choose(count, now_ms)
            if offsets:
                partition.deliver(offsets, now_ms, now_ms + HIDDEN_MS)
                return await self._move(task, queue, partition, offsets)
        return 0

    async def _move(
        self, task: MoveTask, queue: Queue, partition: QueuePartition, offsets: Sequence[int]
    ) -> int:
        moved = 0
        by_target: dict[str, list[int]] = {}
        for offset in offsets:
            record = partition.reader.look(offset)
            name = task.destination or (source_of(record) if record is not None else None)
            by_target.setdefault(name or "", []).append(offset)
        for name, some in by_target.items():
            target = self._queues.find(name)
            if target is None:
                for offset in some:
                    partition.change(VisibilityChanged(offset, self._now_ms()))
                raise ResourceNotFound(f"The queue '{name}' to move to does not exist.")
            moved += len(await _moved(queue, partition, some, target))
        return moved

    async def _save(self, task: MoveTask) -> None:
        if task.handle in self._tasks:
            await self._store_change(Put(_key(task), msgspec.json.encode(task)))

    async def _forget_old(self, source: str) -> None:
        for task in self.list(source, len(self._tasks))[KEPT_PER_SOURCE:]:
            await self._forget(task)

    async def _forget(self, task: MoveTask) -> None:
        self._tasks.pop(task.handle, None)
        await self._store_change(Delete(_key(task)))

    async def _store_change(self, operation: Put | Delete) -> None:
        try:
            await self._store.transact([], [operation])
        except StoreUnavailable as error:
            raise RequestTimedOut(f"the metadata store does not answer: {error}") from error


async def _moved(
    queue: Queue, partition: QueuePartition, offsets: Sequence[int], target: Queue
) -> Sequence[int]:
    done: asyncio.Future[Sequence[int]] = asyncio.get_running_loop().create_future()

    def settle(result: Sequence[int] | Refusal) -> None:
        if done.done():
            return
        if isinstance(result, Refusal):
            done.set_exception(result)
        else:
            done.set_result(result)

    move_messages(queue, partition, offsets, target, source=None, done=settle)
    return await done


def _key(task: MoveTask) -> str:
    return f"{PREFIX}{task.source}/{task.handle}"
