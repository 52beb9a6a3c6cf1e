"""Watches that survive failures, on another endpoint if need be, until they are closed."""

import asyncio
from collections.abc import AsyncGenerator

from duolog.adapters.etcd.assembly import Assembly
from duolog.adapters.etcd.endpoints import Endpoints
from duolog.adapters.etcd.failures import NoAnswer, Refused, RequestFailed
from duolog.adapters.etcd.gateway import Gateway
from duolog.adapters.etcd.keys import Keys
from duolog.adapters.etcd.messages import WatchAnswer
from duolog.adapters.etcd.session import Session, WatchStream
from duolog.observe.logs import get_logger
from duolog.ports.metastore import ChangeSet, Compacted, StoreUnavailable

log = get_logger("etcd")

_REOPEN_S = 0.2
"""Pause before an endpoint is tried again, cut short when another one is chosen."""

_DENIALS_MAX = 2
"""Consecutive denials before a watch gives up; the first can be about a forgotten token."""


class Watching:
    def __init__(
        self, session: Session, endpoints: Endpoints, keys: Keys, timeout_s: float
    ) -> None:
        self._session = session
        self._endpoints = endpoints
        self._keys = keys
        self._timeout_s = timeout_s

    async def watch(self, prefix: str, from_revision: int) -> AsyncGenerator[ChangeSet, None]:
        # To etcd, zero means "from now on".
        assembly = Assembly(max(from_revision, 1))
        failures = _Failures()
        while True:
            gateway = self._endpoints.current
            stream: WatchStream | None = None
            try:
                stream = await self._open(gateway, prefix, assembly.next_revision)
                if gateway is not self._endpoints.current:
                    # The endpoint was left while the watch began there, and is no longer probed.
                    continue
                failures.clear()
                while True:
                    answer = await stream.next()
                    _check(answer)
                    for revision, events in assembly.take(answer):
                        yield self._keys.change_set(revision, events)
            except RequestFailed as problem:
                failures.add(gateway, problem)
            finally:
                if stream is not None:
                    stream.close()
            assembly.restart()
            self._endpoints.suspect(gateway)
            await self._endpoints.moved_within(_REOPEN_S)

    async def _open(self, gateway: Gateway, prefix: str, from_revision: int) -> WatchStream:
        """A watch that etcd has confirmed."""
        first, end = self._keys.range(prefix)
        request = {
            "key": first,
            "range_end": end,
            "start_revision": from_revision,
            "progress_notify": True,
            "fragment": True,
        }
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        stream = await self._session.watch(gateway, {"create_request": request}, deadline)
        try:
            async with asyncio.timeout_at(deadline):
                _check(await stream.next())
        except BaseException as problem:
            stream.close()
            if isinstance(problem, TimeoutError):
                raise NoAnswer("it did not begin to watch in time") from None
            raise
        return stream


class _Failures:
    """Failures of one watch since it last began."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._denials = 0
        self._is_reported = False

    def add(self, gateway: Gateway, problem: RequestFailed) -> None:
        """Counts and logs a failure; raises StoreUnavailable if retrying is hopeless."""
        if isinstance(problem, Refused) and not problem.is_passing:
            self._denials += 1
            if self._denials >= _DENIALS_MAX:
                raise StoreUnavailable(f"etcd refuses the watch: {problem.message}")
        if not self._is_reported:
            self._is_reported = True
            log.warning("watch broken", endpoint=str(gateway.endpoint), reason=str(problem))


def _check(answer: WatchAnswer) -> None:
    """Raises Compacted, or NoAnswer if this watch has ended otherwise."""
    if answer.canceled and answer.compact_revision:
        raise Compacted(f"the oldest revision to watch from is {answer.compact_revision}")
    if answer.canceled:
        raise NoAnswer(f"it cancelled the watch: {answer.cancel_reason or 'for no reason'}")
