"""When each group next wants to be looked at: one heap for all of them."""

import heapq
from collections.abc import Iterator

_STALE_MAX = 1_024
"""How many outdated entries are tolerated on top of as many as there are live ones."""


class Deadlines:
    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._live: dict[str, int] = {}
        """The entry of the heap that counts for a group; others of it are outdated."""

    def set(self, group_id: str, deadline_ms: int) -> None:
        if self._live.get(group_id) != deadline_ms:
            self._live[group_id] = deadline_ms
            heapq.heappush(self._heap, (deadline_ms, group_id))
            if len(self._heap) > 2 * len(self._live) + _STALE_MAX:
                self._heap = [(at_ms, each) for each, at_ms in self._live.items()]
                heapq.heapify(self._heap)

    def clear(self, group_id: str) -> None:
        self._live.pop(group_id, None)

    def first_ms(self) -> int | None:
        while self._heap:
            deadline_ms, group_id = self._heap[0]
            if self._live.get(group_id) == deadline_ms:
                return deadline_ms
            heapq.heappop(self._heap)
        return None

    def take_due(self, now_ms: int) -> Iterator[str]:
        """The groups whose deadline has come; each loses it."""
        while (first_ms := self.first_ms()) is not None and first_ms <= now_ms:
            _, group_id = heapq.heappop(self._heap)
            del self._live[group_id]
            yield group_id
