"""Senders and receivers of one queue."""

import asyncio
from collections import deque
from random import Random
from typing import NamedTuple

from duolog.client.errors import ClientError
from duolog.sim.oracle.queues import QueueOracle
from duolog.sim.workloads.queue_client import Asker
from duolog.sim.world import NS_PER_S, World
from duolog.wire.sqs.messages import (
    DeleteMessageRequest,
    ReceiveMessageRequest,
    SendMessageRequest,
)

VISIBILITY_SECONDS = 5
WAIT_SECONDS = 2
FORGETFULNESS = 0.2
"""How often a receiver loses what it received, so that it comes again."""
LATENESS_SHARE = 0.5
"""Of these, how many it deletes after all, when they may be somebody else's by then."""


class Sender:
    def __init__(self, asker: Asker, oracle: QueueOracle, random: Random, url: str) -> None:
        self._asker = asker
        self._oracle = oracle
        self._random = random
        self._url = url
        self.stopping = False

    async def run(self, group: str, per_second: float, *, is_fifo: bool) -> None:
        number = 0
        while not self.stopping:
            await asyncio.sleep(self._random.expovariate(per_second))
            body = f"{group}:{number}"
            number += 1
            self._oracle.attempted(body, group)
            request = SendMessageRequest(self._url, body)
            if is_fifo:
                request.message_group_id = group
                request.message_deduplication_id = body.replace(":", "-")
                # Sent until it is acknowledged: it is there once all the same.
                result = await self._asker.insist(request)
            else:
                try:
                    result = await self._asker.ask(request)
                except ClientError:
                    await self._asker.pause()
                    continue
            self._oracle.sent(body, result.message_id)


class _Late(NamedTuple):
    due_ns: int
    body: str
    receipt: str
    asked_ns: int
    delivery: int


class Receiver:
    def __init__(
        self, world: World, asker: Asker, oracle: QueueOracle, random: Random, url: str
    ) -> None:
        self._world = world
        self._asker = asker
        self._oracle = oracle
        self._random = random
        self._url = url
        self.forgetfulness = FORGETFULNESS
        self.received = 0
        self._late: deque[_Late] = deque()

    async def run(self) -> None:
        request = ReceiveMessageRequest(
            self._url,
            max_number_of_messages=10,
            visibility_timeout=VISIBILITY_SECONDS,
            wait_time_seconds=WAIT_SECONDS,
        )
        while True:
            await self._delete_late()
            asked_ns = self._world.now_ns
            try:
                result = await self._asker.ask(request, seconds_max=WAIT_SECONDS + 3)
            except ClientError:
                await self._asker.pause()
                continue
            messages = result.messages or []
            self.received += len(messages)
            self._oracle.received([(each.body, each.message_id) for each in messages], asked_ns)
            for message in messages:
                fate = self._random.random()
                if fate < self.forgetfulness:
                    if fate < self.forgetfulness * LATENESS_SHARE:
                        self._keep(message.body, message.receipt_handle, asked_ns)
                    break
                if not await self._delete(message.body, message.receipt_handle, asked_ns):
                    break

    def _keep(self, body: str, receipt: str, asked_ns: int) -> None:
        """To delete it when its time is over, and it is somebody else's perhaps."""
        due_ns = asked_ns + int(VISIBILITY_SECONDS * NS_PER_S * (0.8 + self._random.random()))
        self._late.append(_Late(due_ns, body, receipt, asked_ns, self._oracle.deliveries(body)))

    async def _delete_late(self) -> None:
        while self._late and self._late[0].due_ns <= self._world.now_ns:
            late = self._late.popleft()
            await self._delete(late.body, late.receipt, late.asked_ns, late.delivery)

    async def _delete(
        self, body: str, receipt: str, asked_ns: int, delivery: int | None = None
    ) -> bool:
        """Whether it is surely gone; without an answer nobody knows."""
        self._oracle.deleting(body, delivery or self._oracle.deliveries(body))
        try:
            await self._asker.ask(DeleteMessageRequest(self._url, receipt))
        except ClientError:
            return False
        # Later than that, the message may have been given to somebody else.
        if self._world.now_ns < asked_ns + VISIBILITY_SECONDS * NS_PER_S:
            self._oracle.deleted(body, self._world.now_ns)
        return True
