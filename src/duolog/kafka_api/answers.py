"""Answers owed to a client, in the order of its requests.

Kafka promises that responses leave in the order in which requests came. A request that must wait
(for the disk, for records, for a group) leaves an unready answer in the connection's queue;
everything behind it waits, and leaves with it in one socket write.
"""

import asyncio
from typing import Protocol

from duolog.observe.metrics import OperationStats
from duolog.ports.transport import Chunk

NO_TIMEOUT = 1 << 62


class Answer(Protocol):
    @property
    def ready(self) -> bool: ...

    @property
    def is_produce(self) -> bool:
        """True for Produce: only such requests are served while earlier ones wait for the disk."""
        ...

    @property
    def timeout_ms(self) -> int:
        """Longest time that the request may wait for its answer."""
        ...

    def time_out(self) -> None:
        """Become ready with the outcome as it is now: the time is up."""
        ...

    @property
    def stats(self) -> OperationStats: ...

    @property
    def started_ns(self) -> int: ...

    def append_to(self, chunks: list[Chunk]) -> None:
        """Add the whole response frame; nothing for a request that wants no answer."""
        ...

    def abandon(self) -> None:
        """Stop waiting: the connection is gone."""
        ...


class TaskAnswer:
    """Answer of a request that a coroutine serves."""

    __slots__ = ("_response", "ready", "started_ns", "stats", "task")

    is_produce = False
    timeout_ms = NO_TIMEOUT

    def __init__(self, stats: OperationStats, started_ns: int) -> None:
        self.stats = stats
        self.started_ns = started_ns
        self.ready = False
        self.task: asyncio.Task[bytes] | None = None
        self._response = b""

    def complete(self, response: bytes) -> None:
        self._response = response
        self.ready = True

    def append_to(self, chunks: list[Chunk]) -> None:
        chunks.append(self._response)

    def time_out(self) -> None:
        """Do nothing: handlers bound their own waits, and `timeout_ms` is infinite here."""

    def abandon(self) -> None:
        if self.task is not None:
            self.task.cancel()
