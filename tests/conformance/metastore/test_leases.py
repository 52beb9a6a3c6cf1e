import asyncio

import pytest

from duolog.ports.metastore import LeaseExpired, LeaseId, MetaStore, Put

pytestmark = pytest.mark.thorough


async def put_leased(store: MetaStore, key: str, ttl_ms: int) -> LeaseId:
    lease = await store.grant_lease(ttl_ms)
    await store.transact([], [Put(key, b"alive", lease)])
    return lease


async def test_an_entry_names_its_lease(store, harness):
    lease = await put_leased(store, "node/1", harness.ttl_ms)
    assert (await store.get("node/1")).lease == lease


async def test_expiry_deletes_the_keys_of_the_lease_alone(store, harness):
    short = await put_leased(store, "short", harness.ttl_ms)
    await put_leased(store, "long", 10 * harness.ttl_ms)
    await store.transact([], [Put("other", b"")])
    await harness.outlast(short)
    assert await store.get("short") is None
    assert await store.get("long") is not None
    assert await store.get("other") is not None


async def test_expiry_is_a_revision_that_watches_see(store, harness):
    lease = await store.grant_lease(harness.ttl_ms)
    put = await store.transact([], [Put("node/1", b"", lease), Put("node/2", b"", lease)])
    watch = store.watch("node/", put.revision + 1)
    await harness.outlast(lease)
    assert (await store.range("node/")).revision == put.revision + 1
    seen = await asyncio.wait_for(anext(watch), 20)
    assert seen.revision == put.revision + 1
    assert [(change.key, change.entry) for change in seen.changes] == [
        ("node/1", None),
        ("node/2", None),
    ]


async def test_a_renewed_lease_lives_on(store, harness):
    lease = await put_leased(store, "node/1", harness.ttl_ms)
    for _ in range(2):
        await harness.pass_ms(harness.ttl_ms * 2 // 3)
        await store.renew_lease(lease)
    assert await store.get("node/1") is not None
    await harness.outlast(lease)
    assert await store.get("node/1") is None


async def test_an_expired_lease_is_of_no_use_any_more(store, harness):
    lease = await store.grant_lease(harness.ttl_ms)
    await harness.outlast(lease)
    with pytest.raises(LeaseExpired):
        await store.renew_lease(lease)
    with pytest.raises(LeaseExpired):
        await store.transact([], [Put("a", b""), Put("node/1", b"", lease)])
    assert await store.get("a") is None
    assert await store.get("node/1") is None


async def test_a_revoked_lease_takes_its_keys_along(store, harness):
    lease = await put_leased(store, "node/1", harness.ttl_ms)
    await store.revoke_lease(lease)
    assert await store.get("node/1") is None
    with pytest.raises(LeaseExpired):
        await store.renew_lease(lease)


async def test_revoking_twice_is_fine(store, harness):
    lease = await put_leased(store, "node/1", harness.ttl_ms)
    await store.revoke_lease(lease)
    revision = (await store.range("")).revision
    await store.revoke_lease(lease)
    assert (await store.range("")).revision == revision


async def test_a_key_put_again_without_the_lease_outlives_it(store, harness):
    lease = await put_leased(store, "node/1", harness.ttl_ms)
    await store.transact([], [Put("node/1", b"for good")])
    await harness.outlast(lease)
    entry = await store.get("node/1")
    assert (entry.value, entry.lease) == (b"for good", None)


async def test_a_lease_gets_its_whole_time_again_after_a_restart(store_factory, harness):
    store = await store_factory()
    lease = await put_leased(store, "node/1", harness.ttl_ms)
    await harness.pass_ms(harness.ttl_ms * 2 // 3)
    await store.close()
    store = await store_factory()
    await harness.pass_ms(harness.ttl_ms * 2 // 3)
    assert (await store.get("node/1")).lease == lease
    await harness.outlast(lease)
    assert await store.get("node/1") is None
