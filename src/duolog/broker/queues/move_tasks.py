"""Move tasks (redrives): they move a dead-letter queue's messages back, or to another queue.

A task is an entry in the metadata store, so it continues after a restart, and on whichever node
leads the queue.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol
from uuid import UUID

from msgspec.structs import replace

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.move_board import CANCELLING, RUNNING, MoveBoard, MoveTask, key_of
from duolog.broker.queues.move_run import Links, MoveRun
from duolog.broker.queues.moving import movable_together, move_messages
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition, not_led
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.core.queues.message import source_of
from duolog.model.errors import Refusal, RequestTimedOut
from duolog.model.queue_errors import (
    InvalidParameterValue,
    ResourceNotFound,
    UnsupportedOperation,
)
from duolog.ports.metastore import MetaStore
from duolog.records.changes import VisibilityChanged

__all__ = ["MoveTask", "MoveTasks"]

KEPT_PER_SOURCE = 10
"""Tasks kept per source queue, to be listed, as in SQS."""
HIDDEN_MS = 60_000
"""Visibility time-out of a message being moved."""
CANCEL_SECONDS_MAX = 15.0
"""Time for which `cancel` waits for a task to finish its step."""


class QueueFinder(Links, Protocol):
    def find(self, name: str) -> Queue | None: ...

    def local(self, name: str) -> Queue: ...

    def front(self, name: str) -> Queue | RoutedQueue | None: ...

    def dead_letter_sources(self, name: str, after: str, limit: int) -> list[str]: ...

    async def journaled(self, queue: Queue) -> None: ...


class MoveTasks:
    def __init__(
        self,
        queues: QueueFinder,
        store: MetaStore,
        now_ms: Callable[[], int],
        new_id: Callable[[], UUID],
    ) -> None:
        self._queues = queues
        self._now_ms = now_ms
        self._new_id = new_id
        self.board = MoveBoard(store, self._changed)
        self._runs: dict[str, tuple[MoveRun, asyncio.Task[None]]] = {}
        """Runs of the tasks that this node executes, by key."""
        self._ended: list[asyncio.Event] = []

    async def resume(self) -> None:
        """Starts to follow the board; resumes interrupted tasks whose queues this node leads."""
        await self.board.start()

    async def stop(self) -> None:
        for _, running in list(self._runs.values()):
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        await self.board.stop()

    def leading(self, source: str) -> None:
        """Takes over the queue's tasks: this node now serves its first partition."""
        for task in self.board.of(source):
            self._changed(key_of(task))

    def left(self, source: str) -> None:
        for run, running in list(self._runs.values()):
            if run.task.source == source:
                running.cancel()

    async def start(self, source: str, destination: str | None, rate: int | None) -> str:
        queue = self._queues.local(source)
        if not self._queues.dead_letter_sources(source, "", 1):
            raise InvalidParameterValue("Source queue must be configured as a Dead Letter Queue.")
        if destination == source:
            raise InvalidParameterValue("A queue's messages cannot be moved to itself.")
        if destination is not None and self._queues.local(destination).config.fifo != (
            queue.config.fifo
        ):
            raise UnsupportedOperation("Both queues must be of the same type.")
        if any(each.source == source and not each.is_over for each in self.all()):
            raise _already_running()
        task = MoveTask(
            handle=self._new_id().hex,
            source=source,
            destination=destination,
            rate=rate,
            started_ms=self._now_ms(),
            to_move=(await self._queues.level(source)).ready,
            source_id=queue.entry.id.hex,
        )
        if not await self.board.begin(task):
            raise _already_running()
        for old in self.list(source, len(self.all()))[KEPT_PER_SOURCE:]:
            await self.board.remove(old)
        return task.handle

    async def cancel(self, handle: str) -> int:
        """Cancels a task and waits for its end; returns the number of messages moved."""
        task = self.board.find(handle)
        while task is not None and task.status == RUNNING:
            await self.board.write(replace(task, status=CANCELLING))
            task = self.board.find(handle)
        if task is None or task.is_over:
            raise ResourceNotFound("The task does not exist, or is no longer running.")
        try:
            async with asyncio.timeout(CANCEL_SECONDS_MAX):
                while task is not None and not task.is_over:
                    await self._board_changed()
                    task = self.board.find(handle)
        except TimeoutError:
            raise RequestTimedOut("the task has not ended yet") from None
        return 0 if task is None else task.moved

    def list(self, source: str, limit: int) -> Sequence[MoveTask]:
        """A source's tasks, latest first."""
        tasks = [task for task in self.all() if task.source == source]
        return sorted(tasks, key=lambda task: -task.started_ms)[:limit]

    def all(self) -> Sequence[MoveTask]:
        """All move tasks; those running on this node with live progress."""
        return [
            self._runs[key_of(task)][0].task if key_of(task) in self._runs else task
            for task in self.board.all()
        ]

    async def queue_deleted(self, entry: QueueEntry) -> None:
        for task in self.board.of(entry.name):
            if task.source_id == entry.id.hex:
                await self.board.remove(task)

    async def move_some(self, queue: Queue, destination: str | None, count: int) -> int:
        """Moves up to `count` messages of one partition served here; returns how many."""
        if not queue.partitions:
            raise not_led()
        # Checked at each step: the queue may have got more partitions since.
        await self._queues.journaled(queue)
        now_ms = self._now_ms()
        for partition in queue.partitions:
            offsets: Sequence[int] = partition.delivery.choose(count, now_ms)
            if offsets:
                offsets = movable_together(partition, offsets)
                partition.deliver(offsets, now_ms, now_ms + HIDDEN_MS)
                return await self._move(destination, queue, partition, offsets)
        return 0

    async def _move(
        self,
        destination: str | None,
        queue: Queue,
        partition: QueuePartition,
        offsets: Sequence[int],
    ) -> int:
        moved = 0
        by_target: dict[str, list[int]] = {}
        for offset in offsets:
            record = partition.reader.look(offset)
            name = destination or (source_of(record) if record is not None else None)
            by_target.setdefault(name or "", []).append(offset)
        for name, some in by_target.items():
            target = self._queues.front(name)
            if target is None:
                for offset in some:
                    partition.change(VisibilityChanged(offset, self._now_ms()))
                raise ResourceNotFound(f"The destination queue '{name}' does not exist.")
            moved += len(await _moved(queue, partition, some, target))
        return moved

    def _changed(self, key: str) -> None:
        """Launches or cancels the local run of a task that was created, changed or removed."""
        task = self.board.get(key)
        run = self._runs.get(key)
        if task is None and run is not None:
            run[1].cancel()
        elif task is not None and not task.is_over and run is None and self._is_mine(task):
            self._launch(key, task)
        for ended in self._ended:
            ended.set()

    def _is_mine(self, task: MoveTask) -> bool:
        queue = self._queues.find(task.source)
        return queue is not None and queue.partition(0) is not None

    def _launch(self, key: str, task: MoveTask) -> None:
        run = MoveRun(task, self.board, self._queues, self._now_ms)
        running = asyncio.ensure_future(run.run())
        self._runs[key] = run, running
        running.add_done_callback(lambda _: self._runs.pop(key, None))

    async def _board_changed(self) -> None:
        changed = asyncio.Event()
        self._ended.append(changed)
        try:
            await changed.wait()
        finally:
            self._ended.remove(changed)


def _already_running() -> UnsupportedOperation:
    return UnsupportedOperation(
        "There is already a task running. Only one active task is allowed for a source queue arn"
        " at a given time."
    )


async def _moved(
    queue: Queue,
    partition: QueuePartition,
    offsets: Sequence[int],
    target: Queue | RoutedQueue,
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
