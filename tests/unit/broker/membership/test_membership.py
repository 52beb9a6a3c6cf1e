import asyncio

import pytest
from structlog.testing import capture_logs
from tests.fakes.cluster_nodes import ManualClock, eventually, registration

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.membership.entries import broker_key, decode_registration, encode, node_key
from duolog.broker.membership.membership import Membership, NodeIdTaken
from duolog.core.membership.lease import Step
from duolog.model.cluster import NodeRecord
from duolog.ports.metastore import LeaseId, Put, StoreUnavailable

TTL = 2_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(clock):
    store = await SqliteStore.open(":memory:", clock)
    yield store
    await store.close()


class Told:
    def __init__(self, membership: Membership) -> None:
        self.told: list[object] = []
        membership.on_epoch.append(self.told.append)
        membership.on_suspend.append(lambda: self.told.append("suspend"))
        membership.on_resume.append(lambda: self.told.append("resume"))


def member(store, clock, node: int = 1, **changes: object) -> Membership:
    return Membership(store, clock, registration(node, **changes), session_timeout_ms=TTL)


async def test_a_node_registers_and_serves_under_its_epoch(store, clock) -> None:
    membership = member(store, clock)
    told = Told(membership)
    await membership.register()
    entry = await store.get(broker_key(1))
    assert entry is not None
    assert entry.lease == membership.lease
    assert membership.epoch == entry.mod_revision
    assert told.told == [entry.mod_revision, "resume"]
    assert membership.is_serving


async def test_a_lease_that_is_renewed_keeps_the_node_alive(store, clock) -> None:
    membership = member(store, clock)
    await membership.register()
    epoch = membership.epoch
    for _ in range(10):
        clock.advance(700)
        assert membership.check() is Step.RENEW
        await membership.renew()
        assert membership.check() is Step.WAIT
    entry = await store.get(broker_key(1))
    assert entry is not None
    assert entry.mod_revision == epoch


async def test_rule_03_a_node_whose_renewal_hangs_stops_before_its_lease_ends(
    store, clock, monkeypatch
) -> None:
    membership = member(store, clock)
    told = Told(membership)
    await membership.register()

    async def hang(lease):
        await asyncio.sleep(3600)

    monkeypatch.setattr(store, "renew_lease", hang)
    renewing = asyncio.create_task(membership.renew())
    await asyncio.sleep(0)
    clock.advance(1_600)
    membership.check()
    assert told.told[-1] == "suspend"
    assert await store.get(broker_key(1)) is not None, "the others still think it alive"
    renewing.cancel()


async def test_a_node_resumes_under_the_same_epoch_if_its_lease_lived_on(
    store, clock, monkeypatch
) -> None:
    membership = member(store, clock)
    told = Told(membership)
    await membership.register()

    async def refuse(lease):
        raise StoreUnavailable("no quorum")

    renew = store.renew_lease
    monkeypatch.setattr(store, "renew_lease", refuse)
    clock.advance(1_700)
    membership.check()
    await membership.renew()
    assert not membership.is_serving
    monkeypatch.setattr(store, "renew_lease", renew)
    await membership.renew()
    membership.check()
    assert told.told[1:] == ["resume", "suspend", "resume"]


async def test_a_renewal_that_failed_is_logged_with_its_reason(store, clock, monkeypatch) -> None:
    membership = Membership(store, clock, registration(1), session_timeout_ms=30)
    await membership.register()

    async def hang(lease):
        await asyncio.sleep(3600)

    async def refuse(lease):
        raise StoreUnavailable("no quorum")

    with capture_logs() as logs:
        for answer in (hang, refuse):
            monkeypatch.setattr(store, "renew_lease", answer)
            await membership.renew()
    assert [each["error"] for each in logs] == ["no answer within 10 ms", "no quorum"]


async def test_rule_04_a_node_whose_lease_ended_registers_under_a_new_epoch(store, clock) -> None:
    membership = member(store, clock)
    told = Told(membership)
    await membership.register()
    first = membership.epoch
    clock.advance(TTL)
    await membership.renew()
    assert membership.check() is Step.REGISTER
    await membership.register()
    assert membership.epoch > first
    assert told.told == [first, "resume", "suspend", membership.epoch, "resume"]


async def stopped_cleanly(store) -> bool:
    entry = await store.get(broker_key(1))
    return decode_registration(entry).stopped_cleanly


async def test_rule_07_a_crash_counts_until_the_controller_has_judged_it(store, clock) -> None:
    membership = member(store, clock, stopped_cleanly=False)
    await membership.register()
    assert not await stopped_cleanly(store)
    clock.advance(TTL)
    await membership.register()
    assert not await stopped_cleanly(store), "nobody has looked at the first registration"
    record = NodeRecord(1, "directory of 1", epoch=membership.epoch)
    await store.transact([], [Put(node_key(1), encode(record))])
    clock.advance(TTL)
    await membership.register()
    assert await stopped_cleanly(store), "this process has not stopped since"


async def test_a_restarted_node_waits_for_the_lease_of_the_crashed_one(store, clock) -> None:
    crashed = member(store, clock)
    await crashed.register()
    restarted = member(store, clock, incarnation="1.2")
    registering = asyncio.create_task(restarted.register())
    await asyncio.sleep(0.05)
    assert not registering.done()
    clock.advance(TTL)
    await asyncio.wait_for(registering, 5)
    assert restarted.epoch > crashed.epoch


async def test_rule_12_a_node_id_that_is_alive_elsewhere_is_refused(store, clock) -> None:
    alive = member(store, clock)
    await alive.register()
    second = member(store, clock, incarnation="1.2", directory="a clone")
    registering = asyncio.create_task(second.register())
    while not registering.done():
        clock.advance(500)
        await alive.renew()
        await asyncio.sleep(0.02)
    with pytest.raises(NodeIdTaken, match="node 1 is alive on host 'host-1'"):
        registering.result()


async def test_a_registration_of_unknown_outcome_is_found_to_have_happened(
    store, clock, monkeypatch
) -> None:
    transact = store.transact

    async def commit_and_say_nothing(compares, operations):
        await transact(compares, operations)
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(store, "transact", commit_and_say_nothing)
    membership = member(store, clock)
    await membership.register()
    entry = await store.get(broker_key(1))
    assert entry.mod_revision == membership.epoch


async def test_a_node_that_leaves_is_gone_at_once(store, clock) -> None:
    membership = member(store, clock)
    told = Told(membership)
    await membership.start()
    await membership.leave()
    assert await store.get(broker_key(1)) is None
    assert told.told[-1] == "suspend"


async def test_a_node_that_leaves_while_it_registers_is_gone_at_once(
    store, clock, monkeypatch
) -> None:
    transact = store.transact

    async def answered_late(*arguments):
        await transact(*arguments)
        await asyncio.Event().wait()

    monkeypatch.setattr(store, "transact", answered_late)
    membership = member(store, clock)
    registering = asyncio.create_task(membership.register())
    while await store.get(broker_key(1)) is None:
        await asyncio.sleep(0)
    registering.cancel()
    await membership.leave()
    assert await store.get(broker_key(1)) is None


async def test_a_node_keeps_itself_alive(store) -> None:
    from duolog.adapters.clock import SystemClock

    membership = Membership(store, SystemClock(), registration(1), session_timeout_ms=60)
    renewals = 0
    renew = store.renew_lease

    async def counted(lease):
        nonlocal renewals
        renewals += 1
        await renew(lease)

    store.renew_lease = counted
    await membership.start()
    await eventually(lambda: renewals > 3)
    await membership.leave()


class Guard:
    """A thread's renewals, as a test tells them."""

    def __init__(self) -> None:
        self.guarded: list[LeaseId | None] = []
        self.sent_ms = 0
        self.expired: LeaseId | None = None

    def guard(self, lease: LeaseId | None) -> None:
        self.guarded.append(lease)

    def is_expired(self, lease: LeaseId) -> bool:
        return self.expired == lease

    def renewed_ms(self, lease: LeaseId) -> int:
        return self.sent_ms


async def test_a_loop_that_was_held_up_serves_on_if_the_guard_has_renewed(store, clock) -> None:
    guard = Guard()
    membership = Membership(store, clock, registration(1), session_timeout_ms=TTL, guard=guard)
    told = Told(membership)
    until: list[int] = []
    membership.on_extended.append(until.append)
    await membership.register()
    assert guard.guarded == [membership.lease]
    clock.advance(1_900)
    guard.sent_ms = clock.monotonic_ms() - 100
    assert membership.check() is Step.WAIT
    assert "suspend" not in told.told
    assert until[-1] == guard.sent_ms + 1_600
    clock.advance(1_600)
    membership.check()
    assert told.told[-1] == "suspend"


async def test_a_node_registers_anew_when_the_guard_finds_its_lease_gone(store, clock) -> None:
    guard = Guard()
    membership = Membership(store, clock, registration(1), session_timeout_ms=TTL, guard=guard)
    told = Told(membership)
    await membership.register()
    guard.expired = membership.lease
    assert membership.check() is Step.REGISTER
    assert told.told[-1] == "suspend"
    await membership.register()
    assert membership.is_serving
    await membership.leave()
    assert guard.guarded[-1] is None
