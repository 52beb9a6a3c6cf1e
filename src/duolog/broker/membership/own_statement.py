"""Publishes this node's statement: whom it cannot reach, who reads from it, whether it is full,
whose groups rebalance.

The entry is bound to the node's lease, so that it goes with the node. It is written at once when
it changes, and anew under each registration.
"""

import asyncio
import contextlib
from collections.abc import Callable

from duolog.broker.membership.entries import broker_key, encode, statement_key
from duolog.broker.membership.membership import Membership
from duolog.broker.membership.own_condition import OwnCondition
from duolog.core.membership.restraint import Restraint
from duolog.model.statement import Statement
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.metastore import Compare, LeaseExpired, MetaStore, Put, StoreUnavailable

log = get_logger("membership")

LOOK_S = 0.25
"""Interval at which the node's links and readers are looked at."""

NODES_NAMED_MAX = 1_000
"""Maximum number of nodes in each list of a statement."""

Nodes = Callable[[], tuple[int, ...]]


class OwnStatement:
    def __init__(
        self,
        store: MetaStore,
        clock: Clock,
        membership: Membership,
        condition: OwnCondition,
        *,
        unreachable: Nodes,
        readers: Nodes,
        rebalancing: Callable[[], tuple[int, ...]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._membership = membership
        self._condition = condition
        self._unreachable = unreachable
        self._readers = readers
        self._rebalancing = rebalancing
        self._restraint = Restraint()
        self.published: Statement | None = None
        """Last statement that is known to be in the store."""
        self.task: asyncio.Task[None] | None = None
        """The publishing task, which only `stop` ends."""

    def start(self) -> None:
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self.task is not None and self.task.cancel():
            await asyncio.wait({self.task})

    async def look(self) -> None:
        """Publishes the present statement if it differs from the published one."""
        self._condition.changed.clear()
        present = Statement(
            node=self._membership.node,
            epoch=self._membership.epoch,
            unreachable=self._unreachable()[:NODES_NAMED_MAX],
            readers=self._readers()[:NODES_NAMED_MAX],
            full=self._condition.is_full,
            rebalancing=self._rebalancing(),
        )
        lease = self._membership.lease
        if present == self.published or lease is None or not self._membership.is_serving:
            return
        now_ms = self._clock.monotonic_ms()
        if self._restraint.wait_ms(now_ms):
            return
        self._restraint.wrote(now_ms)
        put = Put(statement_key(present.node), encode(present), lease)
        registered = Compare(broker_key(present.node), present.epoch)
        try:
            result = await self._store.transact([registered], [put])
        except (StoreUnavailable, LeaseExpired):
            # Written again at the next look, as the node then sees it.
            return
        if result.committed:
            self._report(present)
            self.published = present

    def _report(self, present: Statement) -> None:
        known = () if self.published is None else self.published.unreachable
        if present.unreachable != known:
            log.info("unreachable nodes", nodes=present.unreachable, were=known)

    async def _run(self) -> None:
        while True:
            await self.look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._condition.changed.wait()
