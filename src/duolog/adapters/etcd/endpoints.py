"""Choice of the endpoint in use, and the probe that notices when another one is needed.

A frozen member accepts connections and stays silent; one that is cut off from the others still
serves watches, in which nothing happens any more. Both fail a linearizable read, so the endpoint in
use is probed with one, again and again. Moving away breaks all its connections: requests and
watches notice it as they notice any broken connection.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from duolog.adapters.etcd.failures import RequestFailed
from duolog.adapters.etcd.gateway import Gateway
from duolog.observe.logs import get_logger
from duolog.ports.metastore import StoreUnavailable

log = get_logger("etcd")

PROBE_INTERVAL_S = 0.5
PROBE_TIMEOUT_S = 1.0
_PAUSE_S = 0.1
"""Shortest pause between two probes, however often the endpoint is suspected."""

Probe = Callable[[Gateway, float], Awaitable[None]]
"""Makes a linearizable read until a deadline; raises RequestFailed if there is no answer."""


class Endpoints:
    def __init__(
        self,
        gateways: Sequence[Gateway],
        probe: Probe,
        *,
        interval_s: float = PROBE_INTERVAL_S,
        timeout_s: float = PROBE_TIMEOUT_S,
    ) -> None:
        self._gateways = list(gateways)
        self._probe = probe
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._current = self._gateways[0]
        self._suspected = asyncio.Event()
        self._moved = asyncio.Event()
        self._closed = False
        self._probing = asyncio.create_task(self._probe_forever())

    @property
    def current(self) -> Gateway:
        """The endpoint in use. Only this one is probed, so watches use no other."""
        if self._closed:
            raise StoreUnavailable("the metadata store is closed")
        return self._current

    def in_order(self) -> list[Gateway]:
        """All endpoints, the current one first."""
        at = self._gateways.index(self.current)
        return self._gateways[at:] + self._gateways[:at]

    def suspect(self, gateway: Gateway) -> None:
        """Probes an endpoint now, because something failed there."""
        if gateway is self._current:
            self._suspected.set()

    async def moved_within(self, seconds: float) -> None:
        """Waits for a move to another endpoint, for so long at most."""
        await _wait(self._moved, seconds)

    async def close(self) -> None:
        self._closed = True
        self._probing.cancel()
        await asyncio.wait([self._probing])
        self._announce_move()
        for gateway in self._gateways:
            gateway.close()

    async def _probe_forever(self) -> None:
        is_reported = False
        while True:
            await _wait(self._suspected, self._interval_s)
            self._suspected.clear()
            problem = await self._problem_of(self._current)
            if problem is None or await self._move(problem):
                is_reported = False
            elif not is_reported:
                is_reported = True
                endpoint = str(self._current.endpoint)
                log.error("etcd does not answer", endpoint=endpoint, reason=str(problem))
            await asyncio.sleep(_PAUSE_S)

    async def _move(self, problem: RequestFailed) -> bool:
        """Moves to the first endpoint that answers; False if none does, since moving then gains
        nothing.

        The current one is asked once more: if this whole process was stalled, its answer only
        seemed late, and leaving would break requests for nothing.
        """
        chosen = await self._first_that_answers(self.in_order())
        if chosen is None or chosen is self._current:
            return chosen is not None
        left, self._current = self._current, chosen
        log.warning(
            "etcd endpoint changed",
            left=str(left.endpoint),
            reason=str(problem),
            chosen=str(chosen.endpoint),
        )
        self._announce_move()
        left.abort()
        return True

    async def _first_that_answers(self, gateways: Sequence[Gateway]) -> Gateway | None:
        async def ask(gateway: Gateway) -> Gateway | None:
            return gateway if await self._problem_of(gateway) is None else None

        probes = [asyncio.create_task(ask(gateway)) for gateway in gateways]
        try:
            for probe in asyncio.as_completed(probes):
                if chosen := await probe:
                    return chosen
            return None
        finally:
            for task in probes:
                task.cancel()

    async def _problem_of(self, gateway: Gateway) -> RequestFailed | None:
        try:
            await self._probe(gateway, asyncio.get_running_loop().time() + self._timeout_s)
        except RequestFailed as problem:
            return problem
        return None

    def _announce_move(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


async def _wait(event: asyncio.Event, seconds_max: float) -> None:
    # Not wait_for: before Python 3.12 it loses a cancellation that comes with the event.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds_max):
            await event.wait()
