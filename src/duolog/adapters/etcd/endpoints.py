"""Which endpoint is used, and the probe that notices when it should be another one.

A frozen member accepts connections and says nothing; one that is cut off from the others still
serves watches in which nothing happens any more. Both fail a linearizable read, so that is what
the endpoint in use is asked for, again and again. Leaving it breaks all its connections: every
request and every watch finds out in the one way it has to know anyway.
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
"""Between two probes, however often the endpoint is suspected."""

Probe = Callable[[Gateway, float], Awaitable[None]]
"""Ask for a linearizable read until a deadline; raises RequestFailed when there is none."""


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
        """The one that is probed, and therefore the only one for watches."""
        if self._closed:
            raise StoreUnavailable("the metadata store is closed")
        return self._current

    def in_order(self) -> list[Gateway]:
        """All, the current one first."""
        at = self._gateways.index(self.current)
        return self._gateways[at:] + self._gateways[:at]

    def suspect(self, gateway: Gateway) -> None:
        """Something failed there: probe it now."""
        if gateway is self._current:
            self._suspected.set()

    async def moved_within(self, seconds: float) -> None:
        """Wait so long at most for the choice of another endpoint."""
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
        """To the first endpoint that answers. If none does, moving gains nothing.

        The current one is asked once more: if this whole process stood still for a while, its
        answer only seemed to be late, and leaving would break off requests for nothing.
        """
        chosen = await self._first_that_answers(self.in_order())
        if chosen is None or chosen is self._current:
            return chosen is not None
        left, self._current = self._current, chosen
        log.warning(
            "another etcd endpoint is used",
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
    # Not wait_for: until Python 3.12 it forgets a cancellation that comes with the event.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds_max):
            await event.wait()
