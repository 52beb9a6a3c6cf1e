import asyncio

import pytest

from duolog.ports.metastore import LeaseExpired, MetaStore, Put

TTL_MS = 2_000
PAST_TTL_MS = 3_000
"""A store may end a lease late, never early."""


async def put_leased(store: MetaStore, key: str, ttl_ms: int = TTL_MS):
    lease = await store.grant_lease(ttl_ms)
    await store.transact([], [Put(key, b"alive", lease)])
    return lease


async def test_an_entry_names_its_lease(store):
    lease = await put_leased(store, "node/1")
    assert (await store.get("node/1")).lease == lease


async def test_expiry_deletes_the_keys_of_the_lease_alone(store, harness):
    await put_leased(store, "node/1")
    await store.transact([], [Put("other", b"")])
    await harness.pass_ms(PAST_TTL_MS)
    assert await store.get("node/1") is None
    assert await store.get("other") is not None


async def test_expiry_is_a_revision_that_watches_see(store, harness):
    lease = await store.grant_lease(TTL_MS)
    put = await store.transact([], [Put("node/1", b"", lease), Put("node/2", b"", lease)])
    watch = store.watch("node/", put.revision + 1)
    await harness.pass_ms(PAST_TTL_MS)
    assert (await store.range("node/")).revision == put.revision + 1
    seen = await asyncio.wait_for(anext(watch), 5)
    assert seen.revision == put.revision + 1
    assert [(change.key, change.entry) for change in seen.changes] == [
        ("node/1", None),
        ("node/2", None),
    ]


async def test_a_renewed_lease_lives_on(store, harness):
    lease = await put_leased(store, "node/1")
    for _ in range(2):
        await harness.pass_ms(TTL_MS * 3 // 4)
        await store.renew_lease(lease)
    assert await store.get("node/1") is not None
    await harness.pass_ms(PAST_TTL_MS)
    assert await store.get("node/1") is None


async def test_an_expired_lease_cannot_be_renewed(store, harness):
    lease = await put_leased(store, "node/1")
    await harness.pass_ms(PAST_TTL_MS)
    with pytest.raises(LeaseExpired):
        await store.renew_lease(lease)


async def test_putting_with_an_expired_lease_changes_nothing(store, harness):
    lease = await store.grant_lease(TTL_MS)
    await harness.pass_ms(PAST_TTL_MS)
    with pytest.raises(LeaseExpired):
        await store.transact([], [Put("a", b""), Put("node/1", b"", lease)])
    assert await store.get("a") is None
    assert await store.get("node/1") is None


async def test_a_revoked_lease_takes_its_keys_along(store):
    lease = await put_leased(store, "node/1")
    await store.revoke_lease(lease)
    assert await store.get("node/1") is None
    with pytest.raises(LeaseExpired):
        await store.renew_lease(lease)


async def test_revoking_twice_is_fine(store):
    lease = await put_leased(store, "node/1")
    await store.revoke_lease(lease)
    revision = (await store.range("")).revision
    await store.revoke_lease(lease)
    assert (await store.range("")).revision == revision


async def test_a_key_put_again_without_the_lease_outlives_it(store, harness):
    await put_leased(store, "node/1")
    await store.transact([], [Put("node/1", b"for good")])
    await harness.pass_ms(PAST_TTL_MS)
    entry = await store.get("node/1")
    assert (entry.value, entry.lease) == (b"for good", None)


async def test_two_leases_end_separately(store, harness):
    await put_leased(store, "short", TTL_MS)
    await put_leased(store, "long", 10 * TTL_MS)
    await harness.pass_ms(PAST_TTL_MS)
    assert await store.get("short") is None
    assert await store.get("long") is not None


async def test_a_lease_gets_its_whole_time_again_after_a_restart(store_factory, harness):
    store = await store_factory()
    lease = await put_leased(store, "node/1", 4 * TTL_MS)
    await harness.pass_ms(3 * TTL_MS)
    await store.close()
    store = await store_factory()
    await harness.pass_ms(3 * TTL_MS)
    assert (await store.get("node/1")).lease == lease
    await harness.pass_ms(2 * TTL_MS)
    assert await store.get("node/1") is None
