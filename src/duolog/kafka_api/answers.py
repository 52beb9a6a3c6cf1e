"""Answers owed to a client, in the order of its requests.

Kafka promises that responses leave in the order in which requests came. A request that must
wait (for the disk, for records, for a group) leaves an unready answer in the connection's
queue; everything behind it waits, and leaves with it in one socket write.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from duolog.ports.transport import Chunk


class Answer(Protocol):
    @property
    def ready(self) -> bool: ...

    @property
    def is_produce(self) -> bool:
        """Produce requests may be served while earlier ones wait for the disk."""
        ...

    def chunks(self) -> Sequence[Chunk]:
        """The whole response frame; nothing for a request that wants no answer."""
        ...

    def abandon(self) -> None:
        """The connection is gone."""
        ...


class TaskAnswer:
    """The answer of a request that a coroutine serves."""

    __slots__ = ("_chunks", "ready", "task")

    is_produce = False

    def __init__(self) -> None:
        self.ready = False
        self.task: asyncio.Task[bytes] | None = None
        self._chunks: Sequence[Chunk] = ()

    def complete(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self.ready = True

    def chunks(self) -> Sequence[Chunk]:
        return self._chunks

    def abandon(self) -> None:
        if self.task is not None:
            self.task.cancel()
