"""Requests to any node that answers, for synchronous code."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TypeVar

from duolog.client.cluster import Cluster, is_passing
from duolog.client.errors import ClientError, Endpoint, Refused, Unreachable
from pyspark_duolog.errors import BrokerAway, ConnectorError

CLIENT_ID = "duolog-spark"
RETRY_PAUSE_SECONDS = 0.5

T = TypeVar("T")


def first_answer(
    endpoints: Sequence[Endpoint],
    timeout_ms: int,
    ask: Callable[[Endpoint], Coroutine[None, None, T]],
) -> T:
    """Answer of the first endpoint that gives one; retries until the time-out while none does, or
    none leads."""
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        for endpoint in endpoints:
            try:
                return asyncio.run(ask(endpoint))
            except Refused as refusal:
                if not is_passing(refusal.name):
                    raise ConnectorError(str(refusal)) from None
                failure: ClientError = refusal
            except Unreachable as unreachable:
                failure = unreachable
            except ClientError as error:
                raise ConnectorError(str(error)) from None
        if time.monotonic() > deadline:
            raise BrokerAway(str(failure))
        time.sleep(RETRY_PAUSE_SECONDS)


class Asking:
    """Asks any of the endpoints. Holds no connection, so that it can be pickled to other
    processes."""

    def __init__(self, endpoints: Sequence[Endpoint], timeout_ms: int) -> None:
        self._endpoints = endpoints
        self._timeout_ms = timeout_ms

    def ask(self, question: Callable[[Cluster], Awaitable[T]]) -> T:
        async def ask_one(endpoint: Endpoint) -> T:
            async with Cluster((endpoint[0], endpoint[1]), client_id=CLIENT_ID) as cluster:
                return await question(cluster)

        return first_answer(self._endpoints, self._timeout_ms, ask_one)
