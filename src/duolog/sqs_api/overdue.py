"""Deadline of answers: a request that waits too long for replicas fails as a time-out.

A request may have been written and then wait for other replicas for as long as they are away. After
the deadline its client is told that the outcome is unknown; it may retry.
"""

import asyncio
from collections.abc import Callable, Sequence

from duolog.model.errors import RequestTimedOut
from duolog.sqs_api.answers import Answer

ANSWER_SECONDS_MAX = 30.0
"""Longer than the longest poll and than a fail-over, shorter than clients' time-outs."""
LOOK_SECONDS = 1.0


class Overdue:
    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._pending: dict[Answer, None] = {}
        """Open answers, oldest first."""
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, answers: Sequence[Answer]) -> None:
        """Watch those of the answers that are still open.

        Called behind the turn in which they came, because most are answered within it.
        """
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
            oldest.give_up(RequestTimedOut("the outcome is not known; the request may be repeated"))
