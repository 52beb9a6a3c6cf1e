"""Senders of a queue, with single messages and batches."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

from duolog.client.errors import ClientError
from duolog.sim.oracle.queues import QueueOracle
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.workloads.queue_client import Asker
from duolog.sim.world import NS_PER_S, World
from duolog.wire.sqs.messages import (
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
    SendMessageRequest,
)

SIZES = (1, 1, 1, 2, 3, 10)
"""Numbers of messages sent in one request, drawn at random."""
DELAYS_SECONDS = (0, 0, 0, 0, 1, 4)
"""Delays of single messages of a standard queue, drawn at random."""
REPETITION_SHARE = 0.2
"""Share of FIFO sends after which an earlier, acknowledged send is repeated."""
REPEATABLE_MAX = 20
"""Limit of remembered sends, any of which may be repeated."""
REPETITION_AGE_MAX_NS = 90 * NS_PER_S
"""Age limit of repeated sends: clocks differ by minutes, and deduplication ids expire after
five."""


class Outgoing(NamedTuple):
    body: str
    group: str
    delay_seconds: int


class Sender:
    """Sends to a standard queue; a send with unknown outcome is not repeated."""

    def __init__(
        self,
        world: World,
        asker: Asker,
        oracle: QueueOracle,
        service: ServiceOracle,
        random: Random,
        url: str,
        *,
        delay_seconds: int = 0,
    ) -> None:
        """Send to the queue at `url`, whose messages are all delayed by `delay_seconds`."""
        self._world = world
        self._asker = asker
        self._oracle = oracle
        self._service = service
        self._random = random
        self._url = url
        self._delay_seconds = delay_seconds
        self._numbers: dict[str, int] = {}
        self.stopping = False

    async def run(self, groups: Sequence[str], per_second: float) -> None:
        while not self.stopping:
            await asyncio.sleep(self._random.expovariate(per_second))
            count = self._random.choice(SIZES)
            await self._deliver([self._next(groups) for _ in range(count)])

    def _next(self, groups: Sequence[str]) -> Outgoing:
        group = self._random.choice(groups)
        number = self._numbers[group] = self._numbers.get(group, -1) + 1
        message = Outgoing(f"{group}:{number}", group, self._delay())
        due_ns = self._world.now_ns + (message.delay_seconds or self._delay_seconds) * NS_PER_S
        self._oracle.attempted(message.body, group, due_ns)
        return message

    def _delay(self) -> int:
        return self._random.choice(DELAYS_SECONDS)

    async def _deliver(self, messages: Sequence[Outgoing]) -> None:
        try:
            await self._send(messages)
        except ClientError:
            await self._asker.pause()

    async def _send(self, messages: Sequence[Outgoing]) -> list[Outgoing]:
        """Send messages and return those refused. Raises ClientError when any may have been
        taken."""
        what = f"send to {self._url.rpartition('/')[2]}"
        asked_ns = self._service.asked(what)
        if len(messages) == 1:
            result = await self._asker.ask(self._single(messages[0]))
            self._oracle.sent(messages[0].body, result.message_id)
            self._service.answered(what, asked_ns)
            return []
        entries = [self._entry(str(at), each) for at, each in enumerate(messages)]
        result = await self._asker.ask(SendMessageBatchRequest(self._url, entries))
        for each in result.successful:
            self._oracle.sent(messages[int(each.id)].body, each.message_id)
        if not result.failed:
            self._service.answered(what, asked_ns)
        return [messages[at] for at in sorted(int(each.id) for each in result.failed)]

    def _single(self, message: Outgoing) -> SendMessageRequest:
        request = SendMessageRequest(self._url, message.body)
        if message.delay_seconds:
            request.delay_seconds = message.delay_seconds
        return request

    def _entry(self, name: str, message: Outgoing) -> SendMessageBatchRequestEntry:
        entry = SendMessageBatchRequestEntry(name, message.body)
        if message.delay_seconds:
            entry.delay_seconds = message.delay_seconds
        return entry


class FifoSender(Sender):
    """Sends everything until it is acknowledged, and some of it once more."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._sent: deque[tuple[int, Sequence[Outgoing]]] = deque(maxlen=REPEATABLE_MAX)
        """Time of the first attempt, and its messages."""

    def _delay(self) -> int:
        # FIFO queues allow no delay per message, only one for the whole queue.
        return 0

    async def _deliver(self, messages: Sequence[Outgoing]) -> None:
        self._sent.append((self._world.now_ns, messages))
        left = list(messages)
        while left:
            with suppress(ClientError):
                left = await self._send(left)
            if left:
                await self._asker.pause()
        if self._random.random() < REPETITION_SHARE:
            await self._repeat(*self._random.choice(self._sent))

    async def _repeat(self, tried_ns: int, messages: Sequence[Outgoing]) -> None:
        if self._world.now_ns - tried_ns < REPETITION_AGE_MAX_NS:
            try:
                await self._send(messages)
            except ClientError:
                await self._asker.pause()

    def _single(self, message: Outgoing) -> SendMessageRequest:
        request = super()._single(message)
        request.message_group_id = message.group
        request.message_deduplication_id = _name(message)
        return request

    def _entry(self, name: str, message: Outgoing) -> SendMessageBatchRequestEntry:
        entry = super()._entry(name, message)
        entry.message_group_id = message.group
        entry.message_deduplication_id = _name(message)
        return entry


def _name(message: Outgoing) -> str:
    """The message's deduplication id."""
    return message.body.replace(":", "-")
