"""Who waits for a partition: for its high watermark to reach an offset, or for more to read."""

import asyncio
from typing import Protocol

from duolog.model.errors import Refusal


class Waiter(Protocol):
    """Somebody who waits until the partition's high watermark has reached an offset."""

    def settle(self, failure: Refusal | None) -> None: ...


class Reader(Protocol):
    """Somebody who wants to know that there is more to read."""

    def advanced(self) -> None: ...


class FutureWaiter:
    """Somebody who waits in a task."""

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
