"""Answers in the end whoever waits for what does not come.

What is asked for may be written and then wait for other replicas, for as long as they are away.
A client is told after a while that nobody knows; it may ask again.
"""

import asyncio
from collections.abc import Callable, Sequence

from duolog.model.errors import RequestTimedOut
from duolog.sqs_api.answers import Answer

ANSWER_SECONDS_MAX = 30.0
"""Longer than the longest poll and what a fail-over takes, shorter than clients wait."""
LOOK_SECONDS = 1.0


class Overdue:
    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._pending: dict[Answer, None] = {}
        """The oldest first."""
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, answers: Sequence[Answer]) -> None:
        """Those of them that are still waited for. Most are answered in the turn in which they
        came, so it is better called behind that."""
        pending = self._pending
        for answer in answers:
            if answer.is_open:
                pending[answer] = None
                answer.pending = pending
        if pending and self._timer is None:
            self._set()

    def _set(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        before_ns = self._now_ns() - int(ANSWER_SECONDS_MAX * 1e9)
        while self._pending:
            oldest = next(iter(self._pending))
            if oldest.started_ns > before_ns:
                self._set()
                return
            del self._pending[oldest]
            oldest.give_up(RequestTimedOut("whether it was done is not known; ask again"))
