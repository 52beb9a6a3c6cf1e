"""Push delivery of a node: one pusher per queue with a push endpoint.

Follows the catalog of queues, after the registry: a queue gets a pusher when its endpoint is set,
and loses it when the endpoint is unset or changes.
"""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Protocol

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.push.allow_list import PushAllowList
from duolog.broker.queues.push.pusher import PushCounts, Pusher
from duolog.broker.queues.push.request import Header
from duolog.broker.queues.push.slots import PushSlots
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.config.settings import Settings
from duolog.ports.http import Poster

SETTLING_MS = 5_000
"""Visibility beyond a push's time-out, so that its message is not visible again before it can be
deleted or backed off."""

STOP_SECONDS_MAX = 5.0


class QueueFinder(Protocol):
    def find(self, name: str) -> Queue | None: ...

    def front(self, name: str) -> Queue | RoutedQueue | None: ...

    def all(self) -> Iterator[Queue]: ...


class Pushing:
    def __init__(self, queues: QueueFinder, poster: Poster, settings: Settings) -> None:
        self._queues = queues
        self._poster = poster
        self._allow = PushAllowList(settings.get("push.allow"))
        self._timeout_ms = settings.integer("push.timeout.ms")
        self._slots = PushSlots(settings.integer("push.requests.max"))
        self._pushers: dict[str, Pusher] = {}
        self._is_running = False
        self.counts = PushCounts()

    @property
    def in_progress(self) -> int:
        return self._slots.taken

    def check(self, entry: QueueEntry, present: QueueEntry | None) -> None:
        """Refuses a new endpoint that is not allowed; one that the queue already has may stay."""
        endpoint = entry.config.push_endpoint
        if endpoint is not None and (present is None or endpoint != present.config.push_endpoint):
            self._allow.check(endpoint)

    def start(self) -> None:
        """Starts the pushers; called once all queues, dead-letter queues included, are open."""
        self._is_running = True
        for queue in self._queues.all():
            self._begin(queue.entry)

    async def stop(self) -> None:
        """Stops all pushers, and waits until their messages are visible again."""
        self._is_running = False
        while self._pushers:
            self._pushers.popitem()[1].stop()
        try:
            async with asyncio.timeout(STOP_SECONDS_MAX):
                await self._slots.all_back()
        except TimeoutError:
            # The disk does not answer. The messages come back after their visibility time-out.
            return

    async def queue_created(self, entry: QueueEntry) -> None:
        self._begin(entry)

    async def queue_changed(self, old: QueueEntry, new: QueueEntry) -> None:
        if old.config.push_endpoint != new.config.push_endpoint:
            self._end(new.name)
            self._begin(new)

    async def queue_deleted(self, entry: QueueEntry) -> None:
        self._end(entry.name)

    def _begin(self, entry: QueueEntry) -> None:
        queue = self._queues.find(entry.name)
        endpoint = entry.config.push_endpoint
        if endpoint is None or queue is None or not self._is_running:
            return
        pusher = self._pushers[entry.name] = Pusher(
            queue,
            partial(self._queues.front, entry.name),
            endpoint,
            self._post,
            self._slots,
            self.counts,
            visibility_ms_min=self._timeout_ms + SETTLING_MS,
        )
        pusher.start()

    def _end(self, name: str) -> None:
        pusher = self._pushers.pop(name, None)
        if pusher is not None:
            pusher.stop()

    async def _post(self, url: str, headers: Sequence[Header], body: bytes) -> int:
        return await self._poster.post(
            url,
            headers,
            body,
            timeout_s=self._timeout_ms / 1000,
            allow=self._allow.allows,
        )
