"""Waiters of a partition: for its high watermark to reach an offset, or for more records."""

import asyncio
from typing import Protocol

from duolog.model.errors import Refusal


class Waiter(Protocol):
    """Waits for an offset to be committed, or durable here; settled once per registration."""

    def settle(self, failure: Refusal | None) -> None: ...


class Reader(Protocol):
    """A long-polling reader, called when there is more to read or the role changes."""

    def advanced(self) -> None: ...


class FutureWaiter:
    """A Waiter that settles a future, for callers that await."""

    __slots__ = ("_future",)

    def __init__(self, future: asyncio.Future[None]) -> None:
        self._future = future

    def settle(self, failure: Refusal | None) -> None:
        if self._future.done():
            return
        if failure is None:
            self._future.set_result(None)
        else:
            self._future.set_exception(failure)
