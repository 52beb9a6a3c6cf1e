"""Writes a node's registration to the store, under a lease of its own.

The entry's mod-revision is the node's broker epoch, so it is written exactly once per
registration.
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
"""Lease times for which a node waits for a holder of its id to go: a crashed one is gone after
one, or after two if the store's own leader changed meanwhile."""

_LOOKS_PER_TTL = 8
_RETRY_S = 0.25


class NodeIdTaken(Exception):
    """Another live process has this node id. The text is for the operator."""


class Registered(NamedTuple):
    lease: LeaseId
    epoch: int
    """The node's broker epoch: the entry's mod-revision."""
    sent_ms: int
    """Monotonic time at which the lease was requested."""


async def register(
    store: MetaStore,
    clock: Clock,
    registration: Registration,
    ttl_ms: int,
    on_granted: Callable[[LeaseId], None],
) -> Registered:
    """Registers the node, with retries; raises NodeIdTaken.

    `on_granted` is called with each lease before anything is bound to it, so that a caller that
    is cancelled can revoke the lease, whatever has become of the registration.
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
    """Tries once; returns Registered, or the registration of the id's current holder."""
    key = broker_key(registration.node)
    present = await store.get(key)
    holder = None if present is None else decode_registration(present)
    if holder is not None and holder.incarnation != registration.incarnation:
        return holder
    sent_ms = clock.monotonic_ms()
    lease = await store.grant_lease(ttl_ms)
    on_granted(lease)
    # A present entry is this very process's, under an earlier lease: after an unknown outcome,
    # say. The new entry replaces it and gives a new epoch.
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
    """The registration that won the race; this node's own if it is gone again already."""
    return registration if entry is None else decode_registration(entry)
