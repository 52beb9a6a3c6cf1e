"""Reports this node's load to the controller periodically."""

import asyncio
from collections.abc import Callable

from duolog.broker.membership.entries import encode, load_key
from duolog.broker.membership.membership import Membership
from duolog.core.membership.load_meter import LoadMeter, Totals
from duolog.model.load import LoadReport
from duolog.ports.clock import Clock
from duolog.ports.metastore import LeaseExpired, MetaStore, Put, StoreUnavailable

REPORT_INTERVAL_MS = 2_000


class LoadReporter:
    def __init__(
        self,
        store: MetaStore,
        clock: Clock,
        membership: Membership,
        measure: Callable[[], Totals],
    ) -> None:
        self._store = store
        self._clock = clock
        self._membership = membership
        self._measure = measure
        self._meter = LoadMeter(membership.node, measure(), clock.monotonic_ms())
        self.latest = LoadReport(membership.node)
        self.task: asyncio.Task[None] | None = None
        """The reporting task, which only `stop` ends."""

    def start(self) -> None:
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self.task is not None and self.task.cancel():
            await asyncio.wait({self.task})

    async def report(self) -> None:
        """Measures and writes one report; a lost one is made up for by the next."""
        self.latest = self._meter.report(self._measure(), self._clock.monotonic_ms())
        lease = self._membership.lease
        if lease is None or not self._membership.is_serving:
            return
        put = Put(load_key(self._membership.node), encode(self.latest), lease)
        try:
            await self._store.transact([], [put])
        except (StoreUnavailable, LeaseExpired):
            return

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(REPORT_INTERVAL_MS / 1000)
            await self.report()
