"""Keeps this node's lease, and suspends the node before the lease can have expired.

core/membership/lease.py decides what to do when. Suspension never waits for the store: a renewal
that hangs is exactly the case in which the node must stop serving.
"""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from duolog.broker.membership.entries import decode_record, node_key
from duolog.broker.membership.registering import NodeIdTaken, register
from duolog.core.membership.lease import Lease, Step
from duolog.model.cluster import Registration
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.lease_guard import LeaseGuard
from duolog.ports.metastore import LeaseExpired, LeaseId, MetaStore, StoreUnavailable

__all__ = ["SESSION_TIMEOUT_MS", "Membership", "NodeIdTaken"]

log = get_logger("membership")

SESSION_TIMEOUT_MS = 2_000

_RETRY_MS = 100
"""Pause after a failed renewal; shorter than the interval, which the lease may not survive."""


class Membership:
    def __init__(
        self,
        store: MetaStore,
        clock: Clock,
        registration: Registration,
        *,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        guard: LeaseGuard | None = None,
    ) -> None:
        self._store = store
        self._guard = guard
        self._clock = clock
        self._registration = registration
        self._state = Lease(session_timeout_ms)
        self._guarded_ms = 0
        """Time of the guard's newest renewal that was taken over."""
        self._attempt: asyncio.Task[None] | None = None
        self.lease: LeaseId | None = None
        """Lease to which this node's entries are bound; None until it is registered."""
        self._granted: LeaseId | None = None
        """Newest granted lease, under which this node may already be registered."""
        self.epoch = 0
        """This node's broker epoch; 0 until it is registered."""
        self._first_epoch = 0
        self.on_epoch: list[Callable[[int], None]] = []
        """Called with each new broker epoch, before the node serves under it."""
        self.on_extended: list[Callable[[int], None]] = []
        """Called with the time (monotonic, ms) until which this node may serve."""
        self.on_suspend: list[Callable[[], None]] = []
        """Called when the node must stop serving: other leaders may be elected."""
        self.on_resume: list[Callable[[], None]] = []
        """Called when the node may serve, for the first time or again."""
        self.task: asyncio.Task[None] | None = None
        """The renewing task. Ends by `leave`, or by NodeIdTaken: then the node must stop."""

    @property
    def node(self) -> int:
        return self._registration.node

    @property
    def incarnation(self) -> str:
        return self._registration.incarnation

    @property
    def is_serving(self) -> bool:
        return self._state.is_serving

    async def start(self) -> None:
        """Registers, which may have to wait for an earlier lease of this node to expire, and keeps
        the lease from then on. Raises NodeIdTaken."""
        await self.register()
        self.task = asyncio.create_task(self._keep())

    async def leave(self) -> None:
        """Stops serving and revokes the lease, so that the cluster need not wait for its expiry."""
        if self.task is not None and self.task.cancel():
            await asyncio.wait({self.task})
        if self._attempt is not None:
            self._attempt.cancel()
        if self._guard is not None:
            self._guard.guard(None)
        self._state.lost()
        self.check()
        self.lease = None
        if self._granted is not None:
            # Without an answer the lease expires by itself, a little later.
            with contextlib.suppress(StoreUnavailable):
                await self._store.revoke_lease(self._granted)
            self._granted = None

    async def register(self) -> None:
        await self._vouch()
        registered = await register(
            self._store, self._clock, self._registration, self._state.ttl_ms, self._note_granted
        )
        self.lease = registered.lease
        self.epoch = registered.epoch
        self._first_epoch = self._first_epoch or self.epoch
        self._state.registered(registered.sent_ms)
        self._extended()
        self._guarded_ms = 0
        if self._guard is not None:
            self._guard.guard(self.lease)
        log.info("registered", node=self.node, epoch=self.epoch)
        for told in self.on_epoch:
            told(self.epoch)
        self.check()

    def _note_granted(self, lease: LeaseId) -> None:
        self._granted = lease

    async def _vouch(self) -> None:
        """Marks re-registrations as clean: a process that continues has lost nothing. Not before
        the controller has handled its first one, since the run before may have lost records."""
        if self._registration.stopped_cleanly or not self._first_epoch:
            return
        try:
            entry = await self._store.get(node_key(self.node))
        except StoreUnavailable:
            return
        if entry is not None and decode_record(entry).epoch >= self._first_epoch:
            self._registration = msgspec.structs.replace(self._registration, stopped_cleanly=True)

    def check(self) -> Step:
        """Suspends or resumes the node, as the clock says; returns the next step for the caller."""
        self._look_at_guard()
        while True:
            step = self._state.step(self._clock.monotonic_ms())
            if step is Step.SUSPEND:
                log.info("this node is suspended until its lease is renewed", node=self.node)
                for told in self.on_suspend:
                    told()
            elif step is Step.RESUME:
                for told in self.on_resume:
                    told()
            else:
                return step

    def _look_at_guard(self) -> None:
        """Takes over what the guard has renewed, while a long turn may have held up this loop."""
        if self._guard is None or self.lease is None:
            return
        if self._guard.is_expired(self.lease):
            self._state.lost()
        sent_ms = self._guard.renewed_ms(self.lease)
        if sent_ms > self._guarded_ms:
            self._guarded_ms = sent_ms
            self._state.renewed_elsewhere(sent_ms)
            self._extended()

    async def renew(self) -> None:
        assert self.lease is not None
        sent_ms = self._clock.monotonic_ms()
        self._state.renewal_sent(sent_ms)
        try:
            async with asyncio.timeout(self._state.interval_ms / 1000):
                await self._store.renew_lease(self.lease)
        except LeaseExpired:
            log.warning("the lease has ended", node=self.node, epoch=self.epoch)
            self._state.lost()
        except StoreUnavailable as error:
            self._not_renewed(str(error))
        except TimeoutError:
            self._not_renewed(f"no answer within {self._state.interval_ms} ms")
        else:
            self._state.renewed(sent_ms)
            self._extended()

    def _not_renewed(self, why: str) -> None:
        log.warning("the lease was not renewed", node=self.node, error=why)
        self._state.renewal_failed(self._clock.monotonic_ms() + _RETRY_MS)

    def _extended(self) -> None:
        for told in self.on_extended:
            told(self._state.serve_until_ms)

    async def _keep(self) -> None:
        while True:
            step = self.check()
            if self._attempt is None and step is Step.RENEW:
                self._attempt = asyncio.create_task(self.renew())
            elif self._attempt is None and step is Step.REGISTER:
                self._attempt = asyncio.create_task(self.register())
            await self._pause()

    async def _pause(self) -> None:
        """Sleeps until a step is due, or the current attempt has ended."""
        now_ms = self._clock.monotonic_ms()
        renew_s = max(0, self._state.renew_at_ms - now_ms) / 1000
        stop_s = max(0, self._state.serve_until_ms - now_ms) / 1000
        if self._attempt is None:
            await asyncio.sleep(min(renew_s, stop_s) if self.is_serving else renew_s)
            return
        # While an attempt runs, only the suspension can fall due.
        await asyncio.wait({self._attempt}, timeout=stop_s if self.is_serving else None)
        if self._attempt.done():
            attempt, self._attempt = self._attempt, None
            attempt.result()
