"""Runs one move task, on the node that leads the source's first partition.

A message is hidden from consumers while it is moved; it is committed in its destination before
it is deleted from its source.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from duolog.broker.queues.move_board import CANCELLING, RUNNING, MoveBoard, MoveTask, key_of
from duolog.broker.queues.routing.links import QueueLink
from duolog.broker.queues.routing.requests import Level
from duolog.broker.queues.routing.scattering import Patience, may_repeat
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger

TOGETHER_MAX = 100
STEP_SECONDS = 0.1
SAVE_MS = 1_000

log = get_logger("queues")


class Links(Protocol):
    def links(self, name: str) -> list[QueueLink]: ...

    async def level(self, name: str) -> Level: ...


class MoveRun:
    def __init__(
        self, task: MoveTask, board: MoveBoard, queues: Links, now_ms: Callable[[], int]
    ) -> None:
        self.task = msgspec.structs.replace(task)
        """The task with live progress; the board's may be a second old."""
        self._board = board
        self._queues = queues
        self._now_ms = now_ms

    async def run(self) -> None:
        task = self.task
        try:
            await self._move_all()
            task.status = "CANCELLED" if self._is_cancelled() else "COMPLETED"
        except Refusal as refusal:
            task.status = "FAILED"
            task.failure = str(refusal)
            log.error("a message move failed", queue=task.source, error=str(refusal))
        is_noted = await self._save()
        while not is_noted:
            await asyncio.sleep(SAVE_MS / 1000)
            is_noted = await self._save()

    def _is_cancelled(self) -> bool:
        """True if the task was cancelled or removed. Checked between steps only, so that messages
        in flight arrive and are counted."""
        known = self._board.get(key_of(self.task))
        return known is None or known.status == CANCELLING

    async def _move_all(self) -> None:
        task = self.task
        loop = asyncio.get_running_loop()
        saved_ms = self._now_ms()
        begun, begun_with = loop.time(), task.moved
        while task.moved < task.to_move and not self._is_cancelled():
            count = min(TOGETHER_MAX, task.to_move - task.moved)
            if task.rate is not None:
                allowed = begun_with + int((loop.time() - begun) * task.rate) + 1
                count = min(count, allowed - task.moved)
                if count <= 0:
                    await asyncio.sleep(STEP_SECONDS)
                    continue
            moved = await self._step(count)
            if not moved:
                return
            task.moved += moved
            if self._now_ms() - saved_ms >= SAVE_MS:
                saved_ms = self._now_ms()
                await self._save()
            await asyncio.sleep(0)

    async def _step(self, count: int) -> int:
        """Moves up to `count` messages from one of the nodes that have some; returns how many.

        An unknown outcome is harmless: messages that were not moved are still in the source, and
        the next step moves them.
        """
        patience = Patience()
        while True:
            try:
                for link in self._queues.links(self.task.source):
                    if moved := await link.move(self.task.destination, count):
                        return moved
                # An empty answer may be due to a change of leaders, so the counts are checked.
                if not (await self._queues.level(self.task.source)).has_any:
                    return 0
            except Refusal as refusal:
                if not may_repeat(refusal, idempotent=True) or not await patience.is_left():
                    raise
            else:
                if not await patience.is_left():
                    return 0

    async def _save(self) -> bool:
        """Writes the progress to the board; False if the store does not answer."""
        task = self.task
        try:
            # Retried on conflict: somebody may cancel the task meanwhile, or delete the queue.
            while self._board.get(key_of(task)) is not None and not await self._board.write(task):
                if task.status == RUNNING and self._is_cancelled():
                    return True
        except Refusal as refusal:
            log.warning(
                "progress of a message move not saved", queue=task.source, error=str(refusal)
            )
            return False
        return True
