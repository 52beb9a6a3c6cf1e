"""Deadlines of all groups in one heap."""

import heapq
from collections.abc import Iterator

_STALE_MAX = 1_024
"""Outdated heap entries, beyond as many as live ones, above which the heap is rebuilt."""


class Deadlines:
    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._live: dict[str, int] = {}
        """Group id → its valid deadline; any other heap entry of the group is outdated."""

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
        """Removes and yields the groups whose deadline has passed."""
        while (first_ms := self.first_ms()) is not None and first_ms <= now_ms:
            _, group_id = heapq.heappop(self._heap)
            del self._live[group_id]
            yield group_id
