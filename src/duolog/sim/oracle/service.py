"""Service: after the last fault, and during one that the promise covers, all is answered again."""

import asyncio
from collections.abc import Callable

from duolog.sim.oracle.verdict import Verdict

LOOK_SECONDS = 0.1


class ServiceOracle:
    """Told by clients of each request that was answered as it should be."""

    def __init__(self, verdict: Verdict, now_ns: Callable[[], int]) -> None:
        self._verdict = verdict
        self._now_ns = now_ns
        self._since_ns = 0
        self._known: dict[str, None] = {}
        """All services that were ever asked for."""
        self._missing: dict[str, None] = {}
        self.gaps_seconds: list[float] = []
        """Times without all services, from each event that was waited for."""

    def asked(self, service: str) -> int:
        """Note that a service is asked for; returns the time, to be passed to `answered`."""
        self._known[service] = None
        return self._now_ns()

    def answered(self, service: str, asked_ns: int) -> None:
        if asked_ns >= self._since_ns:
            self._missing.pop(service, None)

    async def until_served(self, event: str, seconds_max: float) -> None:
        """Wait until every service has answered a request that was sent after now."""
        self._since_ns = began_ns = self._now_ns()
        self._missing = dict(self._known)
        while self._missing:
            await asyncio.sleep(LOOK_SECONDS)
            gap = (self._now_ns() - began_ns) / 1e9
            if gap > seconds_max:
                self._verdict.violated(
                    "service", f"no {', '.join(self._missing)} {seconds_max:.0f} s after {event}"
                )
                break
        self.gaps_seconds.append((self._now_ns() - began_ns) / 1e9)
