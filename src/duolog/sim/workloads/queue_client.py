"""An SQS client that asks any node, and another one after a failure."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from duolog.client.errors import ClientError
from duolog.client.queues import QueueClient
from duolog.sim.node import SQS_PORT
from duolog.wire.sqs.messages import CreateQueueRequest, GetQueueAttributesRequest, Shape

SECONDS_MAX = 5.0
PAUSE_SECONDS = 0.2


class Asker:
    def __init__(self, machines: Sequence[str], random: Random, now_ms: Callable[[], int]) -> None:
        self._clients = [QueueClient((name, SQS_PORT), None, now_ms) for name in machines]
        self._random = random
        self._at = random.randrange(len(machines))

    async def ask(self, request: Shape, *, seconds_max: float = SECONDS_MAX) -> Any:
        """Ask the current node. Raises ClientError, after choosing the node to ask next."""
        try:
            return await self._clients[self._at].call(request, "queue", seconds_max=seconds_max)
        except ClientError:
            self._at = self._random.randrange(len(self._clients))
            raise

    async def insist(self, request: Shape) -> Any:
        """Repeat the request until it succeeds."""
        while True:
            try:
                return await self.ask(request)
            except ClientError:
                await self.pause()

    async def create(self, name: str, attributes: dict[str, str]) -> str:
        result = await self.insist(CreateQueueRequest(name, attributes))
        return str(result.queue_url)

    async def arn_of(self, url: str) -> str:
        result = await self.insist(GetQueueAttributesRequest(url, ["QueueArn"]))
        return str((result.attributes or {})["QueueArn"])

    async def pause(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS * (0.5 + self._random.random()))
