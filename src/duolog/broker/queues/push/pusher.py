"""Pushes the messages of one queue to its endpoint.

Receives like any consumer, only as many messages as it can push at once, and settles each by the
endpoint's answer. So the queue itself keeps order, counts receives and handles dead letters;
messages in flight when the node crashes come back after their visibility time-out.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from duolog.broker.queues.push.endpoint import EndpointHealth, back_off_ms
from duolog.broker.queues.push.request import Header, push_headers
from duolog.broker.queues.push.slots import PushSlots
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.receiving import Received
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.ports.http import PushFailed

REFUSED_PAUSE_MS = 1_000
"""Pause after a refused receive: too many messages in flight, or a failing disk."""

log = get_logger("queues")

Post = Callable[[str, Sequence[Header], bytes], Coroutine[Any, Any, int]]
"""Posts a body and returns the answer's status; raises PushFailed without an answer."""


class PushCounts:
    """Numbers of pushes of all queues, since the node started."""

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0


class Pusher:
    def __init__(
        self,
        queue: Queue,
        front: Callable[[], Queue | RoutedQueue | None],
        endpoint: str,
        post: Post,
        slots: PushSlots,
        counts: PushCounts,
        *,
        visibility_ms_min: int,
    ) -> None:
        """Takes `front`, which returns the queue as the APIs use it; None once it is deleted."""
        self._queue = queue
        self._front = front
        self._endpoint = endpoint
        self._post = post
        self._slots = slots
        self._counts = counts
        self._visibility_ms_min = visibility_ms_min
        self._health = EndpointHealth()
        self._taken = 0
        """Slots in use, by messages being received, pushed or settled."""
        self._pushes: set[asyncio.Task[int]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def start(self) -> None:
        self._queue.on_ready = self.look
        self.look()

    def stop(self) -> None:
        """Stops pushing; messages in flight become visible again at once."""
        self._is_stopped = True
        self._queue.on_ready = None
        self._slots.forget(self.look)
        self._resume()
        for push in self._pushes:
            push.cancel()

    def look(self) -> None:
        """Receives and pushes as much as the slots and the endpoint allow."""
        while not self._is_stopped and self._pause is None:
            room = self._health.allowed(self._queue.config.push_concurrency) - self._taken
            if room <= 0 or not self._queue.counts().ready:
                return
            # One message per receive of a FIFO queue: one receive may return several messages of
            # a group, which pushed concurrently would lose their order. Separate receives get
            # different groups.
            wanted = 1 if self._queue.config.fifo else room
            taken = self._slots.take(wanted, self.look)
            if not taken:
                return
            self._ask(taken)

    def _ask(self, count: int) -> None:
        """Receives up to `count` messages, whose slots are taken already."""
        config = self._queue.config
        self._taken += count
        self._queue.receive(
            count=count,
            wait_ms=0,
            visibility_ms=max(config.visibility_timeout_seconds * 1000, self._visibility_ms_min),
            attempt=None,
            done=partial(self._received, count),
        )

    def _received(self, asked: int, result: list[Received] | Refusal) -> None:
        if isinstance(result, Refusal):
            self._rest(REFUSED_PAUSE_MS)
            self._give_back(asked)
            return
        for received in result:
            push = asyncio.ensure_future(self._push(received))
            self._pushes.add(push)
            push.add_done_callback(partial(self._ended, received))
            if self._is_stopped:
                push.cancel()
        self._give_back(asked - len(result))

    def _give_back(self, count: int) -> None:
        self._taken -= count
        self._slots.give_back(count)

    async def _push(self, received: Received) -> int:
        headers = push_headers(self._queue.entry.name, received)
        status = await self._post(self._endpoint, headers, received.message.body.encode())
        if not 200 <= status < 300:
            raise PushFailed(f"the endpoint answered with status {status}")
        return status

    def _ended(self, received: Received, push: asyncio.Task[int]) -> None:
        self._pushes.discard(push)
        failure = None if push.cancelled() else push.exception()
        if push.cancelled():
            # Unknown whether the endpoint got the message: made visible for another delivery.
            self._hide(received, 0)
        elif failure is None:
            self._succeeded(received)
        else:
            self._failed(received, failure)
        if failure is not None and not isinstance(failure, PushFailed):
            # A bug: raised to the event loop's exception handler.
            raise failure

    def _succeeded(self, received: Received) -> None:
        self._counts.succeeded += 1
        if self._health.worked():
            log.info("a push endpoint works again", **self._names())
        self._resume()
        self._settling.delete([received.receipt_handle], self._settled)

    @property
    def _settling(self) -> Queue | RoutedQueue:
        """The queue to settle with: over all nodes, since another may lead the message by now and
        would push it again."""
        return self._front() or self._queue

    def _failed(self, received: Received, failure: BaseException) -> None:
        self._counts.failed += 1
        if self._health.failed():
            log.warning("a push endpoint fails", **self._names(), error=str(failure))
        if self._health.is_failing:
            self._rest(self._health.pause_ms)
        self._hide(received, back_off_ms(received.receive_count))

    def _hide(self, received: Received, ms: int) -> None:
        self._settling.change_visibility([(received.receipt_handle, ms)], self._settled)

    def _settled(self, result: list[Refusal | None] | Refusal) -> None:
        """Frees the slot. A message that could not be settled comes back after its visibility
        time-out."""
        self._give_back(1)
        self.look()

    def _rest(self, ms: int) -> None:
        self._resume()
        if not self._is_stopped:
            loop = asyncio.get_running_loop()
            self._pause = loop.call_later(ms / 1000, self._rested)

    def _rested(self) -> None:
        self._pause = None
        self.look()

    def _resume(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def _names(self) -> dict[str, str]:
        # Host and port only: the rest of a URL often holds a secret.
        return {"queue": self._queue.entry.name, "endpoint": urlsplit(self._endpoint).netloc}
