"""Receive buffer of a connection, for bytes that are not served yet.

Grows as bytes arrive, never by the size that a frame declares, and within a budget that all
connections share, so that a hundred clients announcing 100 MB each cost nothing.
"""

from mmap import mmap

BASE_BYTES = 256 * 1024
"""Initial size, large enough to take many pipelined requests with one read."""
GRANULE_BYTES = 64 * 1024


class ReceiveBudget:
    """Bytes that all connections together may hold beyond their base buffers."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, bytes_max: int) -> None:
        self._free = bytes_max
        self._waiting: dict[Growable, None] = {}

    def take(self, count: int, asker: "Growable") -> bool:
        """Take bytes from the budget and return True; else False, and the asker is called back once
        some are free."""
        if count > self._free:
            self._waiting[asker] = None
            return False
        self._free -= count
        return True

    def give_back(self, count: int) -> None:
        self._free += count
        waiting, self._waiting = self._waiting, {}
        for asker in waiting:
            asker.budget_freed()

    def forget(self, asker: "Growable") -> None:
        self._waiting.pop(asker, None)


class Growable:
    """The side of a connection that the budget calls back."""

    __slots__ = ()

    def budget_freed(self) -> None:
        raise NotImplementedError


class ReceiveBuffer:
    """One buffer: [start, end) holds received bytes, the rest is free."""

    __slots__ = ("_budget", "data", "end", "start", "view")

    def __init__(self, budget: ReceiveBudget) -> None:
        self._budget = budget
        self.data = _pages(BASE_BYTES)
        self.view = memoryview(self.data)
        self.start = 0
        self.end = 0

    @property
    def is_full(self) -> bool:
        return self.end == len(self.data)

    def compact(self) -> None:
        """Move the unserved bytes to the front."""
        start, end = self.start, self.end
        if start:
            held = end - start
            if held:
                self.view[:held] = self.view[start:end]
            self.start = 0
            self.end = held

    def grow(self, bytes_wanted: int, asker: Growable) -> bool:
        """Double the size, or grow just to `bytes_wanted` if that is less.

        A buffer of about one frame lets a stream of equal large frames start at its front each
        time, so that nothing has to be moved.
        """
        old = len(self.data)
        new = min(old * 2, -(-bytes_wanted // GRANULE_BYTES) * GRANULE_BYTES)
        if not self._budget.take(new - old, asker):
            return False
        self._replace(new)
        return True

    def shrink(self) -> None:
        """Go back to the base size, if the unserved bytes fit."""
        old = len(self.data)
        if old > BASE_BYTES > self.end - self.start:
            self._replace(BASE_BYTES)
            self._budget.give_back(old - BASE_BYTES)

    def release(self, asker: Growable) -> None:
        """Give all memory back: the connection is gone."""
        self._budget.forget(asker)
        if len(self.data) > BASE_BYTES:
            self._budget.give_back(len(self.data) - BASE_BYTES)
        self.data = _NOTHING
        self.view = memoryview(self.data)
        self.start = self.end = 0

    def _replace(self, size: int) -> None:
        held = self.end - self.start
        data = _pages(size)
        data[:held] = self.view[self.start : self.end]
        self.data = data
        self.view = memoryview(data)
        self.start = 0
        self.end = held


def _pages(size: int) -> mmap:
    """Anonymous pages, which take no memory until bytes arrive; a bytearray would be zeroed at
    once, and most connections of a busy node are idle."""
    return mmap(-1, size)


_NOTHING = _pages(1)
"""Placeholder buffer of a closed connection."""
