"""Receivers of a queue: they delete most messages, and lose, keep or return the rest."""

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import NamedTuple

from duolog.client.errors import ClientError
from duolog.sim.oracle.queues import Delivered, QueueOracle
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.workloads.queue_client import Asker
from duolog.sim.world import NS_PER_S, World
from duolog.wire.sqs.messages import (
    ChangeMessageVisibilityBatchRequest,
    ChangeMessageVisibilityBatchRequestEntry,
    ChangeMessageVisibilityRequest,
    DeleteMessageBatchRequest,
    DeleteMessageBatchRequestEntry,
    DeleteMessageRequest,
    Message,
    ReceiveMessageRequest,
)

VISIBILITY_SECONDS = 5
PROLONGED_SECONDS = 8
WAIT_SECONDS = 2
COUNTS = (1, 3, 10, 10)
FORGETFULNESS = 0.2
"""Share of received messages that a receiver does not delete."""
CARELESSNESS = 0.5
"""Share of such cases in which it still handles the rest of the same receive."""
BATCH_SHARE = 0.5
RECEIVE_COUNT = "ApproximateReceiveCount"


class Taken(NamedTuple):
    """A message that a receiver holds."""

    body: str
    receives: int
    """Times that it was received so far."""
    receipt: str


class _Kept(NamedTuple):
    due_ns: int
    taken: Taken


class Receiver:
    def __init__(
        self,
        world: World,
        asker: Asker,
        oracle: QueueOracle,
        service: ServiceOracle,
        random: Random,
        url: str,
        *,
        is_dead: bool = False,
    ) -> None:
        """Receive from a queue, or with `is_dead` from its dead letters."""
        self._world = world
        self._asker = asker
        self._oracle = oracle
        self._service = service
        self._random = random
        self._url = url
        self._is_dead = is_dead
        self.forgetfulness = FORGETFULNESS
        self.received = 0
        self._kept: list[_Kept] = []
        """Messages to be deleted later, when another receiver may have got them."""

    async def run(self) -> None:
        while True:
            now_ns = self._world.now_ns
            due = [each for each in self._kept if each.due_ns <= now_ns]
            self._kept = [each for each in self._kept if each.due_ns > now_ns]
            await self._delete([each.taken for each in due])
            await self._handle(await self._receive())

    async def _receive(self) -> list[Taken]:
        request = ReceiveMessageRequest(
            self._url,
            message_system_attribute_names=[RECEIVE_COUNT],
            max_number_of_messages=self._random.choice(COUNTS),
            visibility_timeout=VISIBILITY_SECONDS,
            wait_time_seconds=WAIT_SECONDS,
        )
        asked_ns = self._world.now_ns
        what = f"receive from {self._url.rpartition('/')[2]}"
        if not self._is_dead:
            self._service.asked(what)
        try:
            result = await self._asker.ask(request, seconds_max=WAIT_SECONDS + 3)
        except ClientError:
            await self._asker.pause()
            return []
        messages = [_taken(each) for each in result.messages or []]
        self.received += len(messages)
        if messages:
            self._service.answered(what, asked_ns)
        self._oracle.received(
            [
                Delivered(taken.body, message_id, taken.receives, self._is_dead)
                for message_id, taken in messages
            ],
            asked_ns,
            VISIBILITY_SECONDS * NS_PER_S,
        )
        return [taken for _, taken in messages]

    async def _handle(self, messages: Sequence[Taken]) -> None:
        done: list[Taken] = []
        returned: list[Taken] = []
        prolonged: list[Taken] = []
        for taken in messages:
            if self._random.random() >= self.forgetfulness:
                done.append(taken)
                continue
            fate = self._random.randrange(4)
            if fate == 1:
                self._keep(taken, VISIBILITY_SECONDS)
            elif fate == 2:
                returned.append(taken)
            elif fate == 3:
                prolonged.append(taken)
            if self._random.random() >= CARELESSNESS:
                break
        await self._hide(prolonged, PROLONGED_SECONDS)
        for taken in prolonged:
            self._keep(taken, PROLONGED_SECONDS)
        await self._delete(done)
        await self._hide(returned, 0)

    def _keep(self, taken: Taken, seconds: int) -> None:
        """Schedule the deletion for about the end of the visibility timeout."""
        due_ns = self._world.now_ns + int(seconds * NS_PER_S * (0.7 + self._random.random()))
        self._kept.append(_Kept(due_ns, taken))

    async def _delete(self, messages: Sequence[Taken]) -> None:
        for taken in messages:
            self._oracle.deleting(taken.body, taken.receives, is_dead=self._is_dead)

        async def one(taken: Taken) -> None:
            await self._asker.ask(DeleteMessageRequest(self._url, taken.receipt))

        async def together(some: Sequence[Taken]) -> list[str]:
            entries = [
                DeleteMessageBatchRequestEntry(str(at), taken.receipt)
                for at, taken in enumerate(some)
            ]
            result = await self._asker.ask(DeleteMessageBatchRequest(self._url, entries))
            return [each.id for each in result.successful]

        for taken in await self._settle(messages, one, together):
            self._oracle.deleted(taken.body, taken.receives, is_dead=self._is_dead)

    async def _hide(self, messages: Sequence[Taken], seconds: int) -> None:
        until_ns = self._world.now_ns + seconds * NS_PER_S
        for taken in messages:
            self._oracle.hiding(taken.body, taken.receives, until_ns, is_dead=self._is_dead)

        async def one(taken: Taken) -> None:
            request = ChangeMessageVisibilityRequest(self._url, taken.receipt, seconds)
            await self._asker.ask(request)

        async def together(some: Sequence[Taken]) -> list[str]:
            entries = [
                ChangeMessageVisibilityBatchRequestEntry(str(at), taken.receipt, seconds)
                for at, taken in enumerate(some)
            ]
            request = ChangeMessageVisibilityBatchRequest(self._url, entries)
            return [each.id for each in (await self._asker.ask(request)).successful]

        for taken in await self._settle(messages, one, together):
            self._oracle.hidden(taken.body, taken.receives, until_ns, is_dead=self._is_dead)

    async def _settle(
        self,
        messages: Sequence[Taken],
        one: Callable[[Taken], Awaitable[None]],
        together: Callable[[Sequence[Taken]], Awaitable[list[str]]],
    ) -> list[Taken]:
        """Settle messages one by one until a request fails, or in a batch; returns those
        acknowledged."""
        settled: list[Taken] = []
        try:
            if len(messages) > 1 and self._random.random() < BATCH_SHARE:
                return [messages[int(each)] for each in await together(messages)]
            for taken in messages:
                await one(taken)
                settled.append(taken)
        except ClientError:
            # Without an answer the outcome is unknown.
            pass
        return settled


def _taken(message: Message) -> tuple[str, Taken]:
    """The message's id, and the message as its receiver keeps it."""
    attributes = message.attributes or {}
    assert message.message_id is not None
    assert message.body is not None
    assert message.receipt_handle is not None
    taken = Taken(message.body, int(attributes[RECEIVE_COUNT]), message.receipt_handle)
    return message.message_id, taken
