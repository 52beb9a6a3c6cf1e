"""Writes a node's registration into the store, under a lease of its own.

The entry's mod-revision is the node's broker epoch, so it is written once for each time that
the node begins to be alive, and never touched otherwise.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from duolog.broker.membership.entries import broker_key, decode_registration, encode
from duolog.model.cluster import Registration
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.metastore import (
    Compare,
    Entry,
    LeaseExpired,
    LeaseId,
    MetaStore,
    Put,
    StoreUnavailable,
)

log = get_logger("membership")

TTLS_WAITED = 2
"""For how many lease times a node waits for another of its id to go: a crashed one is gone
after one, or after two when the store's own leader changed meanwhile."""

_LOOKS_PER_TTL = 8
_RETRY_S = 0.25


class NodeIdTaken(Exception):
    """Another process with this node id is alive. Its text is for the operator."""


class Registered(NamedTuple):
    lease: LeaseId
    epoch: int
    """The broker epoch."""
    sent_ms: int
    """When the lease was asked for, on the monotonic clock."""


async def register(
    store: MetaStore,
    clock: Clock,
    registration: Registration,
    ttl_ms: int,
    on_granted: Callable[[LeaseId], None],
) -> Registered:
    """Wait until the store has this registration. Raises NodeIdTaken.

    `on_granted` is told of a lease before anything is bound to it: who gives up meanwhile can
    revoke it, whatever has become of the registration.
    """
    give_up_ms: int | None = None
    while True:
        try:
            attempt = await _attempt(store, clock, registration, ttl_ms, on_granted)
        except (StoreUnavailable, LeaseExpired) as error:
            log.warning("the metadata store does not answer", error=str(error))
            await asyncio.sleep(_RETRY_S)
            continue
        if isinstance(attempt, Registered):
            return attempt
        if give_up_ms is None:
            give_up_ms = clock.monotonic_ms() + TTLS_WAITED * ttl_ms
            log.info("node id still registered", node=registration.node, by=attempt.incarnation)
        elif clock.monotonic_ms() >= give_up_ms:
            raise NodeIdTaken(
                f"node {registration.node} is alive on host '{attempt.host}' and still renews its"
                " lease: stop it, or give this node another node.id"
            )
        await asyncio.sleep(ttl_ms / 1000 / _LOOKS_PER_TTL)


async def _attempt(
    store: MetaStore,
    clock: Clock,
    registration: Registration,
    ttl_ms: int,
    on_granted: Callable[[LeaseId], None],
) -> Registered | Registration:
    """Registered, or who has the id now."""
    key = broker_key(registration.node)
    present = await store.get(key)
    holder = None if present is None else decode_registration(present)
    if holder is not None and holder.incarnation != registration.incarnation:
        return holder
    sent_ms = clock.monotonic_ms()
    lease = await store.grant_lease(ttl_ms)
    on_granted(lease)
    # A present entry is one of this very process, under a lease that it has lost sight of:
    # after an unknown outcome, say. The new one takes its place and gives a new epoch.
    expected = 0 if present is None else present.mod_revision
    put = Put(key, encode(registration), lease)
    try:
        result = await store.transact([Compare(key, expected)], [put])
    except StoreUnavailable:
        entry = await store.get(key)
        if entry is None or entry.lease != lease:
            raise
        return Registered(lease, entry.mod_revision, sent_ms)
    if result.committed:
        return Registered(lease, result.revision, sent_ms)
    await store.revoke_lease(lease)
    return _outrun(await store.get(key), registration)


def _outrun(entry: Entry | None, registration: Registration) -> Registration:
    """Who was faster; if it has gone again, the next attempt finds that out."""
    return registration if entry is None else decode_registration(entry)
