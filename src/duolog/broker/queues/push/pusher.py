"""Pushes the messages of one queue to its endpoint.

It receives as any consumer does, only as many messages as it can push at once, and settles each
by what the endpoint answers. So the queue itself keeps order, counts receives and has the dead
letters; what is held when the node crashes comes back when its visibility ends.
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
"""After the queue gave nothing out, because too much is in flight or its disk fails."""

log = get_logger("queues")

Post = Callable[[str, Sequence[Header], bytes], Coroutine[Any, Any, int]]
"""Sends a body; the status of the answer. Raises PushFailed where there is none."""


class PushCounts:
    """Of all queues, since the node started."""

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
        """`front` is the queue wherever it is served; none once it is deleted."""
        self._queue = queue
        self._front = front
        self._endpoint = endpoint
        self._post = post
        self._slots = slots
        self._counts = counts
        self._visibility_ms_min = visibility_ms_min
        self._health = EndpointHealth()
        self._taken = 0
        """Slots of messages that are asked for, pushed, or not settled yet."""
        self._pushes: set[asyncio.Task[int]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def start(self) -> None:
        self._queue.on_ready = self.look
        self.look()

    def stop(self) -> None:
        """Begin nothing more, and give back at once what is being pushed."""
        self._is_stopped = True
        self._queue.on_ready = None
        self._slots.forget(self.look)
        self._resume()
        for push in self._pushes:
            push.cancel()

    def look(self) -> None:
        """Something is ready, or there is room for more: push what can be."""
        while not self._is_stopped and self._pause is None:
            room = self._health.allowed(self._queue.config.push_concurrency) - self._taken
            if room <= 0 or not self._queue.counts().ready:
                return
            # One receive may have several messages of a group, whose order is lost when they
            # are pushed at once. Of several receives each has another group.
            wanted = 1 if self._queue.config.fifo else room
            taken = self._slots.take(wanted, self.look)
            if not taken:
                return
            self._ask(taken)

    def _ask(self, count: int) -> None:
        """Receive so many messages, whose slots are taken."""
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
            raise PushFailed(f"it answers with status {status}")
        return status

    def _ended(self, received: Received, push: asyncio.Task[int]) -> None:
        self._pushes.discard(push)
        failure = None if push.cancelled() else push.exception()
        if push.cancelled():
            # Whether the endpoint has it is unknown: it is offered to others.
            self._hide(received, 0)
        elif failure is None:
            self._succeeded(received)
        else:
            self._failed(received, failure)
        if failure is not None and not isinstance(failure, PushFailed):
            # A mistake of ours, which whoever looks after the event loop is to hear of.
            raise failure

    def _succeeded(self, received: Received) -> None:
        self._counts.succeeded += 1
        if self._health.worked():
            log.info("a push endpoint works again", **self._names())
        self._resume()
        self._settling.delete([received.receipt_handle], self._settled)

    @property
    def _settling(self) -> Queue | RoutedQueue:
        """Another node may lead the message by now: what was pushed is not pushed again there."""
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
        """What could not be settled is hidden no longer than its visibility says."""
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
        # The rest of a URL often holds a secret.
        return {"queue": self._queue.entry.name, "endpoint": urlsplit(self._endpoint).netloc}
