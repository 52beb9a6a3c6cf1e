"""Requests that fail over to another endpoint, if repeating them is safe."""

import asyncio
from typing import Any

from duolog.adapters.etcd.address import Endpoint
from duolog.adapters.etcd.endpoints import Endpoints
from duolog.adapters.etcd.failures import AnswerTooLarge, NotSent, Refused, RequestFailed
from duolog.adapters.etcd.gateway import Gateway
from duolog.adapters.etcd.messages import A, Decoder
from duolog.adapters.etcd.session import Session
from duolog.ports.metastore import StoreUnavailable

_PAUSE_S = 0.05
"""Pause before all endpoints are tried again; an election takes a while."""


class Calls:
    def __init__(self, session: Session, endpoints: Endpoints, timeout_s: float) -> None:
        self._session = session
        self._endpoints = endpoints
        self._timeout_s = timeout_s

    async def call(
        self, path: str, request: dict[str, Any], decoder: Decoder[A], *, repeatable: bool
    ) -> A:
        """Sends a request and returns its answer, trying one endpoint after another.

        Raises StoreUnavailable at the deadline, or if the outcome is unknown and the request is not
        repeatable. Raises AnswerTooLarge, and Refused if the error is a lasting one.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s
        # Divided so that two silent endpoints leave time for a third, if there is one.
        is_divided = repeatable and len(self._endpoints.in_order()) > 1
        attempt_s = self._timeout_s / 2.5 if is_divided else self._timeout_s
        problems: dict[Endpoint, RequestFailed] = {}
        while True:
            for gateway in self._endpoints.in_order():
                if loop.time() >= deadline:
                    raise StoreUnavailable(f"etcd does not answer: {_listed(problems)}")
                until = min(deadline, loop.time() + attempt_s)
                try:
                    return await self._session.ask(gateway, path, request, decoder, until)
                except AnswerTooLarge:
                    raise
                except RequestFailed as problem:
                    _raise_unless_it_may_be_tried_again(gateway, problem, repeatable)
                    # An attempt that the deadline cut short is the least informative.
                    if loop.time() < deadline or gateway.endpoint not in problems:
                        problems[gateway.endpoint] = problem
                    self._endpoints.suspect(gateway)
            await asyncio.sleep(_PAUSE_S)


def _raise_unless_it_may_be_tried_again(
    gateway: Gateway, problem: RequestFailed, repeatable: bool
) -> None:
    if isinstance(problem, Refused) and not problem.is_passing:
        raise problem
    if not isinstance(problem, NotSent) and not repeatable:
        raise StoreUnavailable(
            f"{gateway.endpoint}: {problem}; whether the request was carried out is unknown"
        )


def _listed(problems: dict[Endpoint, RequestFailed]) -> str:
    return "; ".join(f"{endpoint}: {problem}" for endpoint, problem in problems.items())
