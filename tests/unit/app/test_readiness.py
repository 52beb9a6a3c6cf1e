"""Whether a node of a cluster may be sent traffic."""

from collections.abc import AsyncIterator

import pytest
from tests.fakes.cluster_nodes import ManualClock, registration

from duolog.adapters.sqlite import SqliteStore
from duolog.app.readiness import expect_membership, follow_membership
from duolog.broker.membership.membership import Membership
from duolog.observe.health import Health

TTL_MS = 2_000
SERVED_MS = 1_600
"""Of a lease's time, as core/membership/lease.py has it."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def health() -> Health:
    health = Health()
    health.set("start", True)
    expect_membership(health)
    return health


@pytest.fixture
async def membership(clock: ManualClock) -> AsyncIterator[Membership]:
    store = await SqliteStore.open(":memory:", clock)
    yield Membership(store, clock, registration(1), session_timeout_ms=TTL_MS)
    await store.close()


async def test_a_node_is_ready_once_it_has_joined(health: Health, membership: Membership) -> None:
    assert health.reasons == {"membership": "the node has not joined its cluster yet"}
    await membership.register()
    follow_membership(health, membership)
    assert health.ready


async def test_a_node_that_stops_serving_is_not_ready_from_that_moment_on(
    health: Health, membership: Membership, clock: ManualClock
) -> None:
    await membership.register()
    follow_membership(health, membership)
    clock.advance(SERVED_MS - 1)
    membership.check()
    assert health.ready
    clock.advance(1)
    membership.check()
    assert not health.ready
    assert "lost touch with the metadata store" in health.reasons["membership"]
    assert "check that etcd runs" in health.reasons["membership"]


async def test_a_node_whose_lease_lived_on_is_ready_again(
    health: Health, membership: Membership, clock: ManualClock
) -> None:
    await membership.register()
    follow_membership(health, membership)
    clock.advance(SERVED_MS)
    membership.check()
    await membership.renew()
    membership.check()
    assert health.ready


async def test_a_node_that_registered_anew_is_ready_again(
    health: Health, membership: Membership, clock: ManualClock
) -> None:
    await membership.register()
    follow_membership(health, membership)
    clock.advance(TTL_MS)
    await membership.renew()
    membership.check()
    assert not health.ready
    await membership.register()
    assert health.ready


async def test_a_lease_that_ended_while_the_node_started_is_noticed(
    health: Health, membership: Membership, clock: ManualClock
) -> None:
    await membership.register()
    clock.advance(TTL_MS)
    membership.check()
    follow_membership(health, membership)
    assert not health.ready


async def test_a_node_that_leaves_is_not_said_to_be_out_of_touch(
    health: Health, membership: Membership
) -> None:
    await membership.register()
    end = follow_membership(health, membership)
    health.set("start", False, "the node is stopping")
    end()
    await membership.leave()
    assert health.reasons == {"start": "the node is stopping"}
